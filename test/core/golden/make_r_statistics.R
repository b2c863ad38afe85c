# Reference values of the comparisons, as R's own functions and multcomp have them. Run: Rscript make_r_statistics.R > r-statistics.json
# Debian: r-base-core, r-cran-multcomp.
suppressPackageStartupMessages(suppressWarnings(library(multcomp)))
set.seed(41)

number <- function(x) sprintf("%.17g", x)
list_of <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
table_of <- function(m) paste0("[", paste(apply(m, 1, list_of), collapse = ", "), "]")
section <- function(name, cases, last = FALSE) {
  cat(sprintf('  "%s": [\n    %s\n  ]%s\n', name, paste(cases, collapse = ",\n    "), if (last) "" else ","))
}

paired <- sapply(c(2, 5, 9), function(n) {
  x <- rnorm(n, 0.02, 0.03)
  found <- t.test(x)
  sprintf('{"values": %s, "p": %s, "interval": %s}', list_of(x), number(found$p.value), list_of(found$conf.int))
})

family <- sapply(c(2, 6, 12), function(m) {
  p <- rbeta(m, 0.4, 3)
  sprintf('{"p": %s, "adjusted": %s}', list_of(p), list_of(p.adjust(p, "holm")))
})

# Randomised complete blocks, all arms against the first by Dunnett's test with the pooled error.
blocks <- sapply(list(c(4, 3), c(6, 4), c(8, 6)), function(size) {
  y <- matrix(rnorm(prod(size)), size[1]) * 0.5 + rnorm(size[1]) + rep(seq(0, 1.5, length.out = size[2]), each = size[1])
  data <- data.frame(y = c(y), block = factor(rep(seq_len(size[1]), size[2])), arm = factor(rep(seq_len(size[2]), each = size[1])))
  fit <- lm(y ~ block + arm, data)
  found <- glht(fit, linfct = mcp(arm = "Dunnett"))
  tests <- summary(found, test = adjusted("single-step", maxpts = 2e6, abseps = 1e-6))$test
  sprintf(
    '{"y": %s, "error": %s, "df": %d, "t": %s, "p": %s}',
    table_of(y), number(summary(fit)$sigma^2), fit$df.residual, list_of(tests$tstat), list_of(tests$pvalues)
  )
})

# Does the effect depend on the class: a repeated-measures analysis of variance with Greenhouse and Geisser's correction.
classes <- sapply(list(c(5, 3), c(8, 4)), function(size) {
  d <- matrix(rnorm(prod(size)), size[1]) %*% diag(seq_len(size[2])) + rnorm(size[1]) + rep(0.8 * seq_len(size[2]), each = size[1])
  fit <- lm(d ~ 1)
  found <- anova(fit, X = ~1, test = "Spherical")
  sprintf('{"d": %s, "f": %s, "p": %s}', table_of(d), number(found[1, "F"]), number(found[1, "G-G Pr"]))
})

ranks <- sapply(c(6, 9, 15), function(n) {
  x <- rnorm(n, 0.3) + rexp(n)
  found <- wilcox.test(x, conf.int = TRUE, exact = TRUE)
  sprintf('{"x": %s, "interval": %s, "walshMedian": %s}', list_of(x), list_of(found$conf.int), number(median(outer(x, x, "+")[upper.tri(diag(n), TRUE)] / 2)))
})

# Pitman and Morgan: spreads of paired values are equal exactly when their sums and differences are uncorrelated.
spreads <- sapply(c(5, 10), function(n) {
  a <- rnorm(n) * 0.3
  b <- rnorm(n) + a
  sprintf('{"a": %s, "b": %s, "p": %s}', list_of(a), list_of(b), number(cor.test(a + b, a - b)$p.value))
})

power <- sapply(list(c(4, 0.03, 0.017), c(8, 0.02, 0.02), c(20, 0.01, 0.02)), function(each) {
  found <- power.t.test(n = each[1], delta = each[2], sd = each[3], type = "paired", strict = TRUE)
  sprintf('{"n": %d, "effect": %s, "sd": %s, "power": %s}', each[1], number(each[2]), number(each[3]), number(found$power))
})

cat("{\n")
cat(sprintf('  "r": "%s",\n  "multcomp": "%s",\n', getRversion(), packageVersion("multcomp")))
section("paired", paired)
section("holm", family)
section("dunnett", blocks)
section("interaction", classes)
section("hodgesLehmann", ranks)
section("spread", spreads)
section("power", power, last = TRUE)
cat("}\n")
