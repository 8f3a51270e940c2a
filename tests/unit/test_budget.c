/* SPDX-License-Identifier: Apache-2.0
 *
 * The budget of waits as arithmetic, without a clock.
 */
#include "rank/budget.h"

#include <criterion/criterion.h>
#include <pthread.h>

static const uint64_t second = 1000000000;

Test(budget, slices_until_nothing_is_left)
{
    struct rs_budget budget = {0};
    uint64_t sum = 0;
    for (int i = 0; i < 7; i++) {
        struct rs_slice slice = rs_budget_take(&budget, 3 * second, second / 2);
        cr_assert_eq(slice.ns, i < 6 ? second / 2 : 0);
        rs_budget_settle(&budget, slice, slice.ns);
        sum += slice.ns;
    }
    cr_assert_eq(sum, 3 * second);
}

Test(budget, a_limit_that_is_no_multiple_of_a_slice)
{
    struct rs_budget budget = {0};
    cr_assert_eq(rs_budget_take(&budget, second * 7 / 10, second / 2).ns, second / 2);
    cr_assert_eq(rs_budget_take(&budget, second * 7 / 10, second / 2).ns, second / 5);
    cr_assert_eq(rs_budget_take(&budget, second * 7 / 10, second / 2).ns, 0);
}

Test(budget, no_limit_no_wait)
{
    struct rs_budget budget = {0};
    cr_assert_eq(rs_budget_take(&budget, 0, second).ns, 0);
}

Test(budget, unspent_time_goes_back_and_overdrawn_time_is_charged)
{
    struct rs_budget budget = {0};
    struct rs_slice slice = rs_budget_take(&budget, second, second);
    cr_assert_eq(rs_budget_take(&budget, second, second).ns, 0, "another thread spends it");
    rs_budget_settle(&budget, slice, second / 4);
    slice = rs_budget_take(&budget, second, second / 2);
    cr_assert_eq(slice.ns, second / 2);
    rs_budget_settle(&budget, slice, second * 5 / 8);
    cr_assert_eq(rs_budget_take(&budget, second, second).ns, second / 8);
}

Test(budget, a_production_fills_it)
{
    struct rs_budget budget = {0};
    struct rs_slice before = rs_budget_take(&budget, second, second);
    rs_budget_refill(&budget);
    struct rs_slice after = rs_budget_take(&budget, second, second * 3 / 4);
    cr_assert_eq(after.ns, second * 3 / 4);
    rs_budget_settle(&budget, before, 0);
    cr_assert_eq(rs_budget_take(&budget, second, second).ns, second / 4,
                 "what was taken before the production is not given back after it");
}

Test(budget, many_productions)
{
    struct rs_budget budget = {0};
    for (int i = 0; i < 70000; i++) {
        struct rs_slice slice = rs_budget_take(&budget, second, second);
        cr_assert_eq(slice.ns, second);
        rs_budget_refill(&budget);
        rs_budget_settle(&budget, slice, second / 2);
    }
}

Test(budget, exhausted_for_good)
{
    struct rs_budget budget = {0};
    rs_budget_exhaust(&budget);
    cr_assert_eq(rs_budget_take(&budget, second, second).ns, 0);
    rs_budget_refill(&budget);
    cr_assert_eq(rs_budget_take(&budget, second, second).ns, 0);
}

Test(budget, a_year)
{
    struct rs_budget budget = {0};
    uint64_t year = 366 * 24 * 3600 * second;
    struct rs_slice slice = rs_budget_take(&budget, year, year);
    cr_assert_eq(slice.ns, year);
    cr_assert_eq(rs_budget_take(&budget, year, year).ns, 0);
}

enum { THREADS = 8 };
static struct rs_budget shared;

static void *spend(void *arg)
{
    uint64_t *sum = arg;
    struct rs_slice slice;
    while ((slice = rs_budget_take(&shared, second, 7000)).ns > 0) {
        uint64_t spent = *sum % 2 ? slice.ns : slice.ns / 7000 * 3000;
        rs_budget_settle(&shared, slice, spent);
        *sum += spent + 1;
    }
    return NULL;
}

Test(budget, threads_spend_no_second_twice, .timeout = 60)
{
    pthread_t threads[THREADS];
    uint64_t sums[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, spend, &sums[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
    }
    cr_assert(sum >= second && sum < second + second / 1000, "%llu ns", (unsigned long long)sum);
}
