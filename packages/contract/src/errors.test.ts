import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, errorCodes, isErrorCode, listErrorCodes, type Outcome } from './errors.ts';
import { ProblemError, throwProblem } from './problem-error.ts';

test('every code has its own title and its own sentence, in the agreed form', () => {
  const codes = listErrorCodes();
  assert.ok(codes.length > 100);
  assert.equal(new Set(codes.map((code) => errorCodes[code].title)).size, codes.length);
  assert.equal(new Set(codes.map((code) => errorCodes[code].help)).size, codes.length);
  for (const code of codes) {
    const { title, help } = errorCodes[code];
    assert.match(code, /^[a-z]+(?:_[a-z]+)*$/);
    assert.match(title, /^[A-Z].{5,60}[^.]$/, code);
    assert.match(help, /^[A-Z].{10,120}\.$/, code);
  }
});

/**
 * These codes refuse a request because of an earlier one and give the outcome of the earlier one.
 */
const outcomesOfEarlierRequests: Readonly<Partial<Record<ErrorCode, Outcome>>> = {
  service_id_reused: 'Unknown',
  request_interrupted: 'Unknown',
  offline_sale_already_uploaded: 'Processed',
};

test('below 500 nothing was processed; a state that cannot change is not worth repeating', () => {
  for (const code of listErrorCodes()) {
    const { status, outcome, retryable } = errorCodes[code];
    assert.ok(status >= 400 && status <= 599, code);
    if (status < 500)
      assert.equal(outcome, outcomesOfEarlierRequests[code] ?? 'NotProcessed', code);
    if (status === 422 || status === 403 || status === 404) assert.equal(retryable, false, code);
    // A ServiceID is valid only once: the client requests the outcome and does not repeat the
    // message.
    const isGoodOnce = code === 'timeout';
    if (status === 429 || status === 503 || status === 504) {
      assert.equal(retryable, !isGoodOnce, code);
    }
  }
});

test('the codes that the contract names have the status that it gives', () => {
  const statusByCode = {
    malformed_json: 400,
    unsupported_media_type: 415,
    payload_too_large: 413,
    token_missing: 401,
    permission_denied: 403,
    transaction_not_found: 404,
    method_not_allowed: 405,
    has_dependants: 409,
    transaction_ambiguous: 409,
    transaction_archived: 409,
    reversal_in_progress: 409,
    precondition_failed: 412,
    precondition_required: 428,
    client_id_reused: 422,
    refund_amount_exceeded: 422,
    authorization_expired: 422,
    entry_mode_invalid: 422,
    avs_data_required: 422,
    moto_contact_required: 422,
    too_late: 422,
    rate_limited: 429,
    internal_error: 500,
    acquirer_rejected_message: 502,
    overloaded: 503,
    acquirer_timeout: 504,
  } as const;
  for (const [code, status] of Object.entries(statusByCode)) {
    assert.ok(isErrorCode(code), code);
    assert.equal(errorCodes[code].status, status, code);
  }
  assert.equal(isErrorCode('toString'), false);
  assert.equal(isErrorCode('transaction_missing'), false);
});

test('a refusal takes its facts from its code unless it says otherwise', () => {
  const plain = new ProblemError('acquirer_timeout', 'No answer came.');
  assert.equal(plain.outcome, 'Unknown');
  assert.equal(plain.message, 'acquirer_timeout: No answer came.');
  assert.throws(
    () => throwProblem('internal_error', 'A fault.', { outcome: 'NotProcessed', retryAfterMs: 5 }),
    (error) =>
      error instanceof ProblemError &&
      error.outcome === 'NotProcessed' &&
      error.retryAfterMs === 5 &&
      error.errors === undefined,
  );
});
