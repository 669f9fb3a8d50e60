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

test('the server reads a provider’s create answer and keeps only the known members of display and payer', () => {
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

// Spec: EVT-8
test('the server accepts a create answer with status 202 and ignores optional members of the wrong type', () => {
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

test('the server limits expiresAt to the requested time and pollAfterMs to between 500 and 60,000 ms', () => {
  const bounded = created(200, { ...fine, expiresAt: '2027-01-01T00:00:00Z', pollAfterMs: 0 });
  assert.ok(bounded.outcome === 'Answered');
  assert.deepEqual([bounded.expiresAt, bounded.pollAfterMs], [expiresAt, 500]);
  const slow = created(200, { ...fine, pollAfterMs: 1e9 });
  assert.ok(slow.outcome === 'Answered' && slow.pollAfterMs === 60_000);
});

// Spec: QRPROV-5
test('the outcome is Unknown if an answer cannot be read or contradicts the request', () => {
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

test('the server refuses an unsafe display for a new pending payment and ignores it for completed payments and status answers', () => {
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

test('the outcome is Unknown after a redirect, a timeout or a server error, and NotSent after 429', () => {
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

test('the server reads the final status from the answer to a late cancel, for HTTP 200 and 409', () => {
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

test('the server accepts a refund answer only if it contains the requested refundId', () => {
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

// Spec: QRPROV-5
test('the server stores unknown members of an answer within size limits, without card data and secrets', () => {
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

test('the server masks a payer identifier that looks like a complete phone number or card number', () => {
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

test('the outcome of a failed call is NotSent if the request was not sent, and Unknown if it was possibly sent', () => {
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

test('the server reads a health answer as Up, Down or Unknown, and HTTP 404 as Up', () => {
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
