#define A(x) x x
#define B(x) A(A(x))
#define C(x) B(B(B(x)))
C(C(C(C(1))))
