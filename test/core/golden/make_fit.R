# Reference values of the pass-time model, by lm and clubSandwich (CR2, Satterthwaite). Run: Rscript make_fit.R > fit.json
# Debian: r-base-core, r-cran-clubsandwich.
suppressPackageStartupMessages(suppressWarnings(library(clubSandwich)))
set.seed(2025)

TERMS <- c("rows", "pcie", "file", "cpu")
number <- function(x) ifelse(is.na(x), "null", sprintf("%.17g", x))
list_of <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

# Passes of runs of these sizes; a run has noise of its own, in its level and in what its file costs.
passes <- function(sizes, topk = 32, hits = TRUE) {
  runs <- rep(seq_along(sizes), sizes)
  n <- length(runs)
  rows <- sample(1:6, n, replace = TRUE)
  pcie <- rbinom(n, rows * topk, 0.15)
  file <- rbinom(n, rows * topk - pcie, ifelse(runs == 1, 0.2, 0.04))
  cpu <- if (hits) rbinom(n, rows * topk - pcie - file, 0.3) else rows * topk - pcie - file
  level <- rnorm(length(sizes), 0, 0.8)[runs]
  slope <- rnorm(length(sizes), 0, 0.3)[runs]
  ms <- 25.7 + 5.7 * rows + 0.49 * pcie + (2.93 + slope) * file + 0.11 * cpu + level + rnorm(n)
  # A block has two runs.
  data.frame(run = runs, block = (runs + 1) %/% 2, ms, rows, pcie, file, cpu)
}

case <- function(name, data) {
  used <- TERMS[sapply(TERMS, function(term) length(unique(data[[term]])) > 1)]
  formula <- reformulate(used, "ms")
  fit <- lm(formula, data)
  kept <- names(coef(fit))[!is.na(coef(fit))]
  refit <- lm(reformulate(kept[-1], "ms"), data)
  found <- coef_test(refit, vcov = "CR2", cluster = data$run, test = "Satterthwaite")
  inflation <- sapply(kept[-1], function(term) {
    others <- setdiff(kept[-1], term)
    if (length(others) == 0) return(1)
    1 / (1 - summary(lm(reformulate(others, term), data))$r.squared)
  })
  wrong <- 0
  by_mean <- 0
  for (block in unique(data$block)) {
    own <- data[data$block == block, ]
    rest <- data[data$block != block, ]
    foretold <- suppressWarnings(predict(lm(formula, rest), own))
    wrong <- wrong + sum((own$ms - foretold)^2)
    by_mean <- by_mean + sum((own$ms - mean(rest$ms))^2)
  }
  cat(sprintf('  {\n    "name": "%s",\n', name))
  for (column in names(data)) cat(sprintf('    "%s": %s,\n', column, list_of(data[[column]])))
  cat(sprintf('    "kept": ["%s"],\n', paste(sub("(Intercept)", "constant", kept, fixed = TRUE), collapse = '", "')))
  cat(sprintf('    "coefficients": %s,\n', list_of(coef(refit))))
  cat(sprintf('    "standardErrors": %s,\n', list_of(found$SE)))
  cat(sprintf('    "df": %s,\n', list_of(found$df_Satt)))
  cat(sprintf('    "inflation": %s,\n', list_of(inflation)))
  cat(sprintf('    "r2": %s,\n    "residualMs": %s,\n    "heldOutR2": %s\n  }', number(summary(refit)$r.squared), number(summary(refit)$sigma), number(1 - wrong / by_mean)))
}

cat(sprintf('{"r": "%s", "clubSandwich": "%s", "cases": [\n', getRversion(), packageVersion("clubSandwich")))
case("eight runs alike", passes(rep(12, 8)))
cat(",\n")
case("runs of unequal length", passes(c(40, 6, 9, 5, 12, 8)))
cat(",\n")
case("no hits: cpu follows from the others", passes(rep(10, 6), hits = FALSE))
cat(",\n")
flat <- passes(rep(14, 4))
flat$pcie <- 0
case("nothing over pcie", flat)
cat("\n]}\n")
