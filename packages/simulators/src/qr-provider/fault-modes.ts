// The reference provider, wrong on purpose: one mode for each fault that a conformance run names.
import { CreateQrPayment } from '@switchyard/contract';
import {
  type ProviderCall,
  type ProviderReply,
  providerCallText,
  providerPaths,
  signCall,
  verifyCall,
} from '@switchyard/sdk-provider';

/** The words of `switchyard provider check`. */
export const brokenModes = [
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

/** One way of being wrong. */
export type BrokenMode = (typeof brokenModes)[number];
export type IsBroken = (mode: BrokenMode) => boolean;

export const isBrokenMode = (text: string): text is BrokenMode =>
  (brokenModes as readonly string[]).includes(text);

type World = {
  readonly isBroken: IsBroken;
  readonly secrets: readonly string[];
  readonly now: number;
  /** The payments that were here, so that an address can be mistaken for another. */
  paymentIds(): Iterable<string>;
};

const hourMs = 3_600_000;
const fillerChars = 70_000;

export const answered = (status: number, body: object): ProviderReply => ({
  status,
  headers: { 'content-type': status >= 400 ? 'application/problem+json' : 'application/json' },
  body: JSON.stringify(body),
});

type Members = Record<string, unknown>;

function membersOf(body: Uint8Array | string): Members | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body as Uint8Array).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

/** As if the platform had signed it. */
function trusted(call: ProviderCall, { secrets, now }: World): ProviderCall {
  const { method, path, body, headers } = call;
  const text = method === 'GET' ? providerCallText('GET', path) : body;
  const signed = signCall({ id: 'trusted', at: now, text, secrets: secrets.slice(0, 1) });
  return { ...call, headers: { ...headers, ...signed } };
}

const isCreate = ({ method, path }: ProviderCall): boolean =>
  method === 'POST' && path === providerPaths.payments;

function isSignedForAnother({ headers, body, method }: ProviderCall, world: World): boolean {
  const { secrets, now } = world;
  const fits = (text: string | Uint8Array) => verifyCall({ headers, text, secrets, now }).isGenuine;
  if (method !== 'GET') return fits(body);
  const ids = [...world.paymentIds()];
  const paths = [providerPaths.health, ...ids.map(providerPaths.payment)];
  return paths.some((path) => fits(providerCallText('GET', path)));
}

/** Believes what it should not: the call as it would have to be to be right. */
function believing(call: ProviderCall, world: World): ProviderCall {
  const { isBroken, secrets, now } = world;
  const { headers, body } = call;
  const isSigned = headers['webhook-signature'] !== undefined;
  if (isBroken('accepts-unsigned') && !isSigned) return trusted(call, world);
  const isAnyGood = isBroken('accepts-changed-body') || isBroken('accepts-foreign-key');
  if (isAnyGood && isSigned) {
    const age = Math.abs(now / 1000 - Number(headers['webhook-timestamp']));
    return age < 300 ? trusted(call, world) : call;
  }
  if (isBroken('accepts-old-signature')) {
    const text = call.method === 'GET' ? providerCallText('GET', call.path) : body;
    const toleranceSeconds = Number.POSITIVE_INFINITY;
    const verdict = verifyCall({ headers, text, secrets, now, toleranceSeconds });
    return verdict.isGenuine ? trusted(call, world) : call;
  }
  if (isBroken('accepts-other-address') && isSignedForAnother(call, world)) {
    const named = membersOf(body)?.['platformTransactionId'];
    const path =
      typeof named === 'string' && !isCreate(call)
        ? call.path.replace(/^\/qr-payments\/[^/]+/, providerPaths.payment(named))
        : call.path;
    return trusted({ ...call, path }, world);
  }
  return call;
}

/** What comes in: changed so that it is taken, or answered before anybody else sees it. */
export function broughtIn(call: ProviderCall, world: World): ProviderCall | ProviderReply {
  const { isBroken } = world;
  const signatures = String(call.headers['webhook-signature'] ?? '');
  if (isBroken('refuses-second-signature') && signatures.trim().includes(' ')) {
    return answered(401, { code: 'signature_invalid' });
  }
  if (isBroken('no-health') && call.path === providerPaths.health) {
    return answered(404, { code: 'address_unknown' });
  }
  if (isBroken('no-activation') && call.path.length <= 1) {
    return answered(404, { code: 'address_unknown' });
  }
  const asked = believing(call, world);
  if (!isCreate(asked)) return asked;
  const members = membersOf(asked.body);
  if (isBroken('accepts-garbage') && members === undefined) {
    return answered(200, { providerTransactionId: 'QR0', status: 'Pending' });
  }
  if (isBroken('accepts-missing-amount') && members !== undefined && !('amount' in members)) {
    const filled = { ...members, amount: { amount: 1, currency: 'EUR' } };
    return trusted({ ...asked, body: Buffer.from(JSON.stringify(filled)) }, world);
  }
  const known = Object.keys(CreateQrPayment.properties);
  const more = Object.keys(members ?? {}).filter((name) => !known.includes(name));
  return isBroken('refuses-unknown-members') && more.length > 0
    ? answered(422, { code: 'message_invalid' })
    : asked;
}

function changedCreate(answer: Members, { isBroken }: World): Members {
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

/** What goes out. */
export function sentOut(call: ProviderCall, reply: ProviderReply, world: World): ProviderReply {
  const answer = membersOf(reply.body);
  if (reply.status >= 300 || answer === undefined) return reply;
  const changed = (body: object): ProviderReply => ({ ...reply, body: JSON.stringify(body) });
  if (isCreate(call)) {
    const made = changedCreate(answer, world);
    return world.isBroken('too-large')
      ? changed({ ...made, filler: 'x'.repeat(fillerChars) })
      : changed(made);
  }
  const isStatus = call.method === 'GET' && /^\/qr-payments\/[^/]+$/.test(call.path);
  if (isStatus && world.isBroken('changes-its-id')) {
    return changed({ ...answer, providerTransactionId: `${answer['providerTransactionId']}-2` });
  }
  return reply;
}
