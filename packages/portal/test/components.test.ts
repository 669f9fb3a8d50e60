// The small rules of the portal: who sees which address, which answers are asked for again, charts, views.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type GroupName, groupPermissions, type Problem } from '@switchyard/contract';
import {
  ConnectionError,
  errorsByField,
  ProblemError,
  parseProblem,
} from '../src/api/api-errors.ts';
import { retryDelayMs, shouldRetry } from '../src/api/query-client.ts';
import { linePath, roundUpScale } from '../src/charts/chart-scale.ts';
import { addView, maxNameLength, maxViews } from '../src/filters/saved-views.ts';
import { navigationFor } from '../src/navigation.ts';
import { amountWithOutcome } from '../src/screens/virtual-terminal/simulated-outcomes.ts';
import { screens } from '../src/screens.ts';

function addressesOf(
  group: GroupName,
  environment: 'demo' | 'production' = 'production',
): string[] {
  const permissions = [...groupPermissions[group]];
  return navigationFor(screens, { permissions, environment }, 'portal')
    .flatMap(({ items }) => items)
    .map(({ to }) => to);
}

describe('the navigation', () => {
  // Spec: RIGHT-18
  test('each group sees only the items that its permissions allow', () => {
    assert.ok(addressesOf('org_admin').includes('/payments'));
    assert.ok(!addressesOf('org_admin').includes('/qr-payments'));
    assert.ok(addressesOf('org_custcare').includes('/analytics'));
    assert.ok(addressesOf('org_supervisor').includes('/payments'));
    assert.ok(!addressesOf('org_operator').includes('/payments'));
    assert.ok(addressesOf('org_operator').includes('/qr-payments'));
    assert.ok(!addressesOf('org_dfo').includes('/payments'));
    assert.ok(addressesOf('merchant_manager').includes('/users'));
    assert.ok(addressesOf('merchant_manager').includes('/exports'));
    assert.ok(!addressesOf('org_supervisor').includes('/exports'));
    assert.ok(addressesOf('org_admin').includes('/audit'));
    assert.ok(!addressesOf('merchant_manager').includes('/audit'));
    assert.ok(addressesOf('org_dev').includes('/logs'));
    for (const address of ['/applications', '/webhooks', '/events', '/console']) {
      assert.ok(addressesOf('org_dev').includes(address), address);
      assert.ok(addressesOf('org_admin').includes(address), address);
      assert.ok(addressesOf('merchant_manager').includes(address), address);
    }
    assert.ok(addressesOf('merchant_manager').includes('/configuration'));
    assert.ok(!addressesOf('org_dev').includes('/configuration'));
    assert.ok(!addressesOf('org_custcare').includes('/users'));
    for (const group of ['org_admin', 'org_custcare', 'org_dfo'] as const) {
      assert.ok(addressesOf(group).includes('/devices'), group);
      assert.ok(addressesOf(group).includes('/merchants'), group);
    }
    assert.ok(!addressesOf('org_dev').includes('/devices'));
    assert.ok(!addressesOf('org_operator').includes('/stores'));
    assert.ok(addressesOf('org_admin').includes('/imports'));
    assert.ok(!addressesOf('org_dfo').includes('/imports'));
    for (const group of Object.keys(groupPermissions) as GroupName[]) {
      assert.ok(addressesOf(group).includes('/'), group);
    }
  });

  test('all users of the demo see the test cards, and no other environment has them', () => {
    assert.ok(addressesOf('org_operator', 'demo').includes('/test-cards'));
    assert.ok(!addressesOf('org_admin').includes('/test-cards'));
  });

  test('only the demo has the virtual terminal', () => {
    assert.ok(addressesOf('merchant_manager', 'demo').includes('/virtual-terminal'));
    assert.ok(!addressesOf('merchant_manager').includes('/virtual-terminal'));
  });
});

describe('refusals', () => {
  const refusal = (facts: Partial<Problem>) =>
    new ProblemError(parseProblem(facts.status ?? 422, facts, 'r-1'));

  test('errors are assigned to their form fields', () => {
    const fault = refusal({
      errors: [
        { pointer: '/address/country', code: 'field_invalid', detail: 'No country.' },
        { pointer: '?limit', code: 'field_invalid', detail: 'Too many.' },
      ],
    });
    assert.deepEqual(errorsByField(fault), {
      'address.country': 'No country.',
      limit: 'Too many.',
    });
    assert.deepEqual(errorsByField(new Error('x')), {});
  });

  test('an HTML error page of a proxy becomes a problem', () => {
    const problem = parseProblem(502, '<html>Bad Gateway</html>', 'r-2');
    assert.deepEqual(
      [problem.status, problem.requestId, problem.outcome, problem.retryable],
      [502, 'r-2', 'Unknown', true],
    );
  });

  test('a query is retried only if that can succeed, after the requested delay', () => {
    assert.equal(shouldRetry(0, new ConnectionError(undefined)), true);
    assert.equal(shouldRetry(2, new ConnectionError(undefined)), false);
    assert.equal(shouldRetry(0, refusal({ status: 503, retryable: true })), true);
    assert.equal(shouldRetry(0, refusal({ status: 403 })), false);
    assert.equal(shouldRetry(0, new Error('ours')), false);
    assert.equal(retryDelayMs(0, refusal({ status: 429, retryAfterMs: 9_000 })), 9_000);
    assert.ok(retryDelayMs(20, new ConnectionError(undefined)) <= 8_000);
  });
});

describe('charts', () => {
  test('the scale ends at a round number, and at 1 without values', () => {
    for (const [value, top] of [
      [0, 1],
      [-3, 1],
      [Number.NaN, 1],
      [7, 10],
      [10, 10],
      [11, 20],
      [2_300, 2_500],
      [0.03, 0.05],
    ] as const) {
      assert.ok(Math.abs(roundUpScale(value) - top) < 1e-9, `${value}: ${roundUpScale(value)}`);
    }
  });

  test('a missing value interrupts the line', () => {
    assert.equal(
      linePath([1, undefined, 1, 2], 2),
      'M12.50 50.00h0.01M62.50 50.00h0.01L87.50 0.00',
    );
    assert.equal(linePath([], 1), '');
  });
});

test('a saved view replaces the view of the same name, and the number of views is limited', () => {
  let views = addView([], { name: 'a', search: '?x=1' });
  views = addView(views, { name: 'a', search: '?x=2' });
  assert.deepEqual(views, [{ name: 'a', search: '?x=2' }]);
  for (let count = 0; count < 50; count += 1)
    views = addView(views, { name: `${count}`, search: '' });
  assert.equal(views.length, maxViews);
  assert.ok(maxNameLength > 0);
});

test('the amount gets the digits of the chosen outcome and never decreases', () => {
  assert.equal(amountWithOutcome(1250, ''), 1250);
  assert.equal(amountWithOutcome(1250, '9051'), 9051);
  assert.equal(amountWithOutcome(19_052, '9051'), 29_051);
  assert.equal(amountWithOutcome(9_051, '9051'), 9_051);
});
