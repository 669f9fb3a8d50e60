import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  outcomeOfFault,
  readCancelAnswer,
  readCreateAnswer,
  readHealthAnswer,
  readRefundAnswer,
  readStatusAnswer,
} from './read-answers.ts';

const now = Date.parse('2026-03-01T12:00:00.000Z');
const expiresAt = new Date(now + 180_000);
const begins = { expiresAt };
const fine = { providerTransactionId: 'P-1', status: 'Pending' };
const png = {
  type: 'image/png',
  data: Buffer.concat([
    Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'),
    Buffer.from([0, 0, 0, 13]),
    Buffer.from('IHDR'),
    Buffer.from([0, 0, 1, 0, 0, 0, 1, 0, 8, 0]),
  ]).toString('base64'),
};

const heard = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers,
  ms: 1,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

const created = (status: number, body: unknown, headers?: Record<string, string>) =>
  readCreateAnswer(heard(status, body, headers), { newPayment: begins }, now);

test('an answer is read, and what may be shown is kept', () => {
  const answer = created(200, {
    ...fine,
    amount: { amount: 1234, currency: 'EUR' },
    display: { ...png, size: 3 },
    expiresAt: '2026-03-01T12:02:00Z',
    pollAfterMs: 3000,
    payer: { maskedId: 'a***@example.com', secret: 'x' },
  });
  assert.deepEqual(answer, {
    outcome: 'Answered',
    providerTransactionId: 'P-1',
    status: 'Pending',
    amount: 1234,
    currency: 'EUR',
    display: png,
    pollAfterMs: 3000,
    expiresAt: new Date('2026-03-01T12:02:00Z'),
    payer: { maskedId: 'a***@example.com' },
  });
});

test('a later answer comes with 202, and what is optional may be of any shape', () => {
  const answer = created(202, {
    ...fine,
    status: 'Created',
    expiresAt: 'tomorrow',
    pollAfterMs: 'soon',
    payer: 'me',
    failure: 'x',
    display: null,
    amount: null,
  });
  assert.deepEqual(answer, {
    outcome: 'Answered',
    providerTransactionId: 'P-1',
    status: 'Created',
  });
});

test('a time that is later than was asked for, and pauses without measure, are bounded', () => {
  const bounded = created(200, { ...fine, expiresAt: '2027-01-01T00:00:00Z', pollAfterMs: 0 });
  assert.ok(bounded.outcome === 'Answered');
  assert.deepEqual([bounded.expiresAt, bounded.pollAfterMs], [expiresAt, 500]);
  const slow = created(200, { ...fine, pollAfterMs: 1e9 });
  assert.ok(slow.outcome === 'Answered' && slow.pollAfterMs === 60_000);
});

test('whatever cannot be read, or contradicts the question, leaves the outcome unknown', () => {
  const unreadable = { outcome: 'Unknown', fault: 'answer_unreadable' };
  for (const body of [
    '',
    'null',
    '[]',
    '<html>',
    '{"providerTransactionId":"P-1"',
    { status: 'Pending' },
    { ...fine, status: 'pending' },
    { ...fine, status: 'Paid' },
    { ...fine, providerTransactionId: 17 },
    { ...fine, providerTransactionId: '../x' },
    { ...fine, providerTransactionId: '4111111111111111' },
    { ...fine, providerTransactionId: 'a'.repeat(129) },
    { ...fine, amount: 12.5 },
    { ...fine, amount: { amount: 12.5, currency: 'EUR' } },
    { ...fine, amount: { amount: '1234', currency: 'EUR' } },
    { ...fine, amount: { amount: 1234, currency: 'euro' } },
    { ...fine, amount: { amount: -1, currency: 'EUR' } },
  ]) {
    assert.deepEqual(created(200, body), unreadable, JSON.stringify(body));
  }
  const contradicts = { outcome: 'Unknown', fault: 'answer_contradicts' };
  assert.deepEqual(created(200, { ...fine, status: 'Refunded' }), contradicts);
  const other = { providerTransactionId: 'P-2' };
  assert.deepEqual(readStatusAnswer(heard(200, fine), other, now), contradicts);
});

test('what may not be shown is found out at once; once it is paid, nobody shows anything', () => {
  const display = { type: 'url', data: 'javascript:alert(1)' };
  assert.deepEqual(created(200, { ...fine, display }), {
    outcome: 'Unknown',
    fault: 'display_refused',
  });
  const paid = { ...fine, status: 'Completed', display };
  assert.deepEqual(created(200, paid), {
    outcome: 'Answered',
    providerTransactionId: 'P-1',
    status: 'Completed',
  });
  assert.deepEqual(readStatusAnswer(heard(200, { ...fine, display }), {}, now), {
    outcome: 'Answered',
    providerTransactionId: 'P-1',
    status: 'Pending',
  });
});

test('a refusal is a value, with the words of the provider in one line and without card data', () => {
  const answer = created(422, {
    status: 422,
    code: 'limit_exceeded',
    title: 'No',
    detail: 'Too much for 4111 1111 1111 1111\n\u0000\ud800 today',
  });
  assert.ok(answer.outcome === 'Refused');
  assert.deepEqual(
    { ...answer, text: undefined },
    {
      outcome: 'Refused',
      reason: 'invalid',
      status: 422,
      code: 'limit_exceeded',
      text: undefined,
    },
  );
  assert.doesNotMatch(answer.text ?? '', /4111|\n|\p{Cc}/u);
  assert.match(answer.text ?? '', /^Too much for .* today$/);
  for (const [status, reason] of [
    [400, 'invalid'],
    [401, 'signature'],
    [403, 'signature'],
    [404, 'refused'],
    [409, 'conflict'],
    [451, 'refused'],
  ] as const) {
    assert.deepEqual(created(status, ''), { outcome: 'Refused', reason, status });
  }
});

test('faults of a server, redirects and what stands between leave the outcome unknown', () => {
  for (const status of [301, 302, 307, 304, 100]) {
    assert.deepEqual(created(status, fine), { outcome: 'Unknown', fault: 'redirected' });
  }
  for (const status of [408, 425, 499, 500, 502, 504, 599]) {
    assert.deepEqual(created(status, fine), { outcome: 'Unknown', fault: 'server_fault' });
  }
  assert.deepEqual(created(204, ''), { outcome: 'Unknown', fault: 'answer_unreadable' });
  assert.deepEqual(created(503, '', { 'retry-after': '7' }), {
    outcome: 'Unknown',
    fault: 'server_fault',
    retryAfterMs: 7000,
  });
  assert.deepEqual(created(429, '', { 'retry-after': new Date(now + 9000).toUTCString() }), {
    outcome: 'NotSent',
    reason: 'too_many_requests',
    retryAfterMs: 9000,
  });
  assert.deepEqual(created(429, '', { 'retry-after': 'soon' }), {
    outcome: 'NotSent',
    reason: 'too_many_requests',
  });
});

test('a payment is missing only where the provider says so: any server can say 404', () => {
  const missing = { status: 404, code: 'payment_not_found' };
  assert.deepEqual(readStatusAnswer(heard(404, missing), {}, now), { outcome: 'NotFound' });
  assert.deepEqual(readCancelAnswer(heard(404, missing), {}, now), { outcome: 'NotFound' });
  for (const status of [404, 405, 410]) {
    const answer = readStatusAnswer(heard(status, '<h1>Not Found</h1>'), {}, now);
    assert.deepEqual(answer, { outcome: 'Unknown', fault: 'answer_unreadable' });
  }
  assert.equal(created(404, missing).outcome, 'Refused');
});

test('a cancel that came too late is an answer, told with 200 or with 409', () => {
  const late = { outcome: 'Answered', status: 'Completed', providerTransactionId: 'P-1' };
  const reference = { providerTransactionId: 'P-1' };
  assert.deepEqual(
    readCancelAnswer(heard(200, { ...fine, status: 'Completed' }), reference, now),
    late,
  );
  const problem = { ...reference, code: 'already_final', paymentStatus: 'Completed', status: 409 };
  const { more, ...answer } = readCancelAnswer(heard(409, problem), reference, now) as Record<
    string,
    unknown
  >;
  assert.deepEqual(answer, late);
  assert.deepEqual(more, { code: 'already_final' });
  assert.deepEqual(readCancelAnswer(heard(200, { status: 'Cancelled' }), {}, now), {
    outcome: 'Answered',
    status: 'Cancelled',
  });
  assert.equal(readCancelAnswer(heard(409, { code: 'busy' }), {}, now).outcome, 'Refused');
  assert.equal(readCancelAnswer(heard(409, { paymentStatus: 'Gone' }), {}, now).outcome, 'Unknown');
  assert.equal(readCancelAnswer(heard(200, ''), {}, now).outcome, 'Unknown');
});

test('a refund is told by its own name', () => {
  const refundId = '0198c0de-0000-7000-8000-00000000000a';
  const answer = { refundId, status: 'Pending', providerRefundId: 'R-1' };
  assert.deepEqual(readRefundAnswer(heard(200, answer), { refundId }, now), {
    outcome: 'Answered',
    status: 'Pending',
    providerRefundId: 'R-1',
  });
  const other = { ...answer, refundId: '0198c0de-0000-7000-8000-00000000000b' };
  assert.deepEqual(readRefundAnswer(heard(200, other), { refundId }, now), {
    outcome: 'Unknown',
    fault: 'answer_contradicts',
  });
  for (const body of ['', { ...answer, status: 'Refunded' }, { status: 'Completed' }]) {
    assert.equal(readRefundAnswer(heard(200, body), { refundId }, now).outcome, 'Unknown');
  }
  const missing = heard(404, { code: 'refund_not_found' });
  assert.deepEqual(readRefundAnswer(missing, { refundId }, now), { outcome: 'NotFound' });
});

test('unknown members are kept within limits, without card data and without secrets', () => {
  const answer = created(200, {
    ...fine,
    wallet: 'Demo',
    pan: '4111111111111111',
    note: 'card 4111111111111111',
    big: 1e300,
    nested: { a: [{ b: { c: { d: 'deep' } } }], track2: 'x', password: 'x' },
    __proto__x: 1,
    'not a name': 1,
    flag: true,
  });
  assert.ok(answer.outcome === 'Answered' && answer.more !== undefined);
  const text = JSON.stringify(answer);
  assert.doesNotMatch(text, /4111|password|track2|deep|not a name/);
  assert.equal(answer.more['wallet'], 'Demo');
  assert.equal(answer.more['flag'], true);
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [`m${at}`, 'x'.repeat(400)]),
  );
  const bounded = created(200, { ...fine, ...many });
  assert.ok(bounded.outcome === 'Answered' && bounded.more === undefined);
});

test('an answer that is nested without end is read', () => {
  const deep = `{"providerTransactionId":"P-1","status":"Pending","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  assert.equal(created(200, deep).outcome, 'Answered');
});

test('a name of a payer that looks whole is masked here', () => {
  const readMaskedId = (maskedId: string) => {
    const answer = created(200, { ...fine, payer: { maskedId } });
    return answer.outcome === 'Answered' ? answer.payer?.maskedId : undefined;
  };
  assert.equal(readMaskedId('+49 171 2345678'), '+** *** ***5678');
  assert.equal(readMaskedId('a***@example.com'), 'a***@example.com');
  assert.equal(readMaskedId('****1234'), '****1234');
  assert.equal(readMaskedId('room 12345'), 'room 12345');
  assert.doesNotMatch(readMaskedId('4111111111111111') ?? '', /41111/);
});

test('what never left did nothing; what may have left is unknown', () => {
  const ms = 1;
  assert.deepEqual(outcomeOfFault({ fault: 'unreachable', ms, possiblySent: false }), {
    outcome: 'NotSent',
    reason: 'unreachable',
  });
  assert.deepEqual(outcomeOfFault({ fault: 'unreachable', ms, possiblySent: true }), {
    outcome: 'Unknown',
    fault: 'unreachable',
  });
  assert.deepEqual(outcomeOfFault({ fault: 'address_refused', ms, possiblySent: false }), {
    outcome: 'NotSent',
    reason: 'address_refused',
  });
  assert.deepEqual(outcomeOfFault({ fault: 'address_refused', ms, possiblySent: true }), {
    outcome: 'Unknown',
    fault: 'unreachable',
  });
  assert.deepEqual(outcomeOfFault({ fault: 'timed_out', ms, possiblySent: true }), {
    outcome: 'Unknown',
    fault: 'timed_out',
  });
});

test('whoever answers a look is there; who says Down, or fails, is not', () => {
  assert.deepEqual(readHealthAnswer(heard(200, { status: 'Up' }), now), {
    outcome: 'Answered',
    status: 'Up',
  });
  assert.deepEqual(readHealthAnswer(heard(200, { status: 'Down' }), now), {
    outcome: 'Answered',
    status: 'Down',
  });
  assert.deepEqual(readHealthAnswer(heard(404, ''), now), { outcome: 'Answered', status: 'Up' });
  assert.equal(readHealthAnswer(heard(200, 'ok'), now).outcome, 'Unknown');
  assert.equal(readHealthAnswer(heard(503, ''), now).outcome, 'Unknown');
});
