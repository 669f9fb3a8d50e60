// Fault modes of the reference provider: one for each fault that a conformance check detects.
import { CreateQrPayment } from '@switchyard/contract';
import {
  type ProviderCall,
  type ProviderResponse,
  providerCallText,
  providerPaths,
  signCall,
  verifyCall,
} from '@switchyard/sdk-provider';

/** The names that `switchyard provider conformance` uses. */
export const faultModes = [
  'accepts-unsigned',
  'accepts-changed-body',
  'accepts-foreign-key',
  'accepts-old-signature',
  'accepts-other-address',
  'refuses-second-signature',
  'accepts-garbage',
  'accepts-missing-amount',
  'refuses-unknown-members',
  'wrong-shape',
  'other-amount',
  'bad-display',
  'late-expiry',
  'changes-its-id',
  'repeat-makes-two',
  'accepts-other-content',
  'knows-everything',
  'approves-declined',
  'refuses-cancel',
  'pays-cancelled',
  'forgets-cancel',
  'cancels-paid',
  'refuses-refund',
  'refunds-twice',
  'refunds-too-much',
  'refunds-unpaid',
  'knows-every-refund',
  'sends-no-events',
  'wrong-event',
  'event-without-token',
  'event-other-amount',
  'event-out-of-sequence',
  'gives-up',
  'changes-repeated-event',
  'repeats-acknowledged',
  'contradicts-events',
  'no-health',
  'no-activation',
  'too-slow',
  'too-large',
] as const;

/** One fault mode. */
export type FaultMode = (typeof faultModes)[number];
export type IsBroken = (mode: FaultMode) => boolean;

export const isFaultMode = (text: string): text is FaultMode =>
  (faultModes as readonly string[]).includes(text);

type ProviderState = {
  readonly isBroken: IsBroken;
  readonly secrets: readonly string[];
  readonly now: number;
  /** Identifiers of known payments, for the mode that accepts a signature for another path. */
  paymentIds(): Iterable<string>;
};

const hourMs = 3_600_000;
const fillerChars = 70_000;

export const jsonReply = (status: number, body: object): ProviderResponse => ({
  status,
  headers: { 'content-type': status >= 400 ? 'application/problem+json' : 'application/json' },
  body: JSON.stringify(body),
});

type Members = Record<string, unknown>;

function parseObject(body: Uint8Array | string): Members | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body as Uint8Array).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

/** Adds a valid signature of the platform. */
function signAgain(call: ProviderCall, { secrets, now }: ProviderState): ProviderCall {
  const { method, path, body, headers } = call;
  const text = method === 'GET' ? providerCallText('GET', path) : body;
  const signed = signCall({ id: 'trusted', at: now, text, secrets: secrets.slice(0, 1) });
  return { ...call, headers: { ...headers, ...signed } };
}

const isCreate = ({ method, path }: ProviderCall): boolean =>
  method === 'POST' && path === providerPaths.payments;

function isSignedForAnother(
  { headers, body, method }: ProviderCall,
  state: ProviderState,
): boolean {
  const { secrets, now } = state;
  const fits = (text: string | Uint8Array) => verifyCall({ headers, text, secrets, now }).isGenuine;
  if (method !== 'GET') return fits(body);
  const ids = [...state.paymentIds()];
  const paths = [providerPaths.health, ...ids.map(providerPaths.payment)];
  return paths.some((path) => fits(providerCallText('GET', path)));
}

/** Accepts a wrong signature: returns the call with a valid one. */
function acceptWrongSignature(call: ProviderCall, state: ProviderState): ProviderCall {
  const { isBroken, secrets, now } = state;
  const { headers, body } = call;
  const isSigned = headers['webhook-signature'] !== undefined;
  if (isBroken('accepts-unsigned') && !isSigned) return signAgain(call, state);
  const isAnyGood = isBroken('accepts-changed-body') || isBroken('accepts-foreign-key');
  if (isAnyGood && isSigned) {
    const age = Math.abs(now / 1000 - Number(headers['webhook-timestamp']));
    return age < 300 ? signAgain(call, state) : call;
  }
  if (isBroken('accepts-old-signature')) {
    const text = call.method === 'GET' ? providerCallText('GET', call.path) : body;
    const toleranceSeconds = Number.POSITIVE_INFINITY;
    const signatureCheck = verifyCall({ headers, text, secrets, now, toleranceSeconds });
    return signatureCheck.isGenuine ? signAgain(call, state) : call;
  }
  if (isBroken('accepts-other-address') && isSignedForAnother(call, state)) {
    const transactionId = parseObject(body)?.['platformTransactionId'];
    const path =
      typeof transactionId === 'string' && !isCreate(call)
        ? call.path.replace(/^\/qr-payments\/[^/]+/, providerPaths.payment(transactionId))
        : call.path;
    return signAgain({ ...call, path }, state);
  }
  return call;
}

/** Changes an incoming call so that the provider accepts it, or answers it at once. */
export function changeIncomingCall(
  call: ProviderCall,
  state: ProviderState,
): ProviderCall | ProviderResponse {
  const { isBroken } = state;
  const signatures = String(call.headers['webhook-signature'] ?? '');
  if (isBroken('refuses-second-signature') && signatures.trim().includes(' ')) {
    return jsonReply(401, { code: 'signature_invalid' });
  }
  if (isBroken('no-health') && call.path === providerPaths.health) {
    return jsonReply(404, { code: 'address_unknown' });
  }
  if (isBroken('no-activation') && call.path.length <= 1) {
    return jsonReply(404, { code: 'address_unknown' });
  }
  const changedCall = acceptWrongSignature(call, state);
  if (!isCreate(changedCall)) return changedCall;
  const members = parseObject(changedCall.body);
  if (isBroken('accepts-garbage') && members === undefined) {
    return jsonReply(200, { providerTransactionId: 'QR0', status: 'Pending' });
  }
  if (isBroken('accepts-missing-amount') && members !== undefined && !('amount' in members)) {
    const filled = { ...members, amount: { amount: 1, currency: 'EUR' } };
    return signAgain({ ...changedCall, body: Buffer.from(JSON.stringify(filled)) }, state);
  }
  const knownNames = Object.keys(CreateQrPayment.properties);
  const unknownNames = Object.keys(members ?? {}).filter((name) => !knownNames.includes(name));
  return isBroken('refuses-unknown-members') && unknownNames.length > 0
    ? jsonReply(422, { code: 'message_invalid' })
    : changedCall;
}

function changeCreateAnswer(answer: Members, { isBroken }: ProviderState): Members {
  const { providerTransactionId: _left, ...withoutId } = answer;
  if (isBroken('wrong-shape')) return withoutId;
  if (isBroken('other-amount')) {
    const { amount, currency } = Object(answer['amount']) as { amount: number; currency: string };
    return { ...answer, amount: { amount: amount + 1, currency } };
  }
  if (isBroken('bad-display')) {
    const data = Buffer.from('no picture').toString('base64');
    return { ...answer, display: { type: 'image/png', data } };
  }
  if (isBroken('late-expiry')) {
    const expiresAt = new Date(Date.parse(String(answer['expiresAt'])) + hourMs).toISOString();
    return { ...answer, expiresAt };
  }
  return answer;
}

/** Changes an outgoing answer. */
export function changeOutgoingReply(
  call: ProviderCall,
  reply: ProviderResponse,
  state: ProviderState,
): ProviderResponse {
  const answer = parseObject(reply.body);
  if (reply.status >= 300 || answer === undefined) return reply;
  const changed = (body: object): ProviderResponse => ({ ...reply, body: JSON.stringify(body) });
  if (isCreate(call)) {
    const made = changeCreateAnswer(answer, state);
    return state.isBroken('too-large')
      ? changed({ ...made, filler: 'x'.repeat(fillerChars) })
      : changed(made);
  }
  const isStatus = call.method === 'GET' && /^\/qr-payments\/[^/]+$/.test(call.path);
  if (isStatus && state.isBroken('changes-its-id')) {
    return changed({ ...answer, providerTransactionId: `${answer['providerTransactionId']}-2` });
  }
  return reply;
}
