#define A(x) x x
#define B(x) A(A(x))
B(B(1))
