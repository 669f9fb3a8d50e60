/** Maps the address and body of a call to an operation of the provider, and returns its answer. */
import {
  CancelQrPayment,
  CreateQrPayment,
  providerPaths,
  RefundQrPayment,
} from '@switchyard/contract';
import { Compile } from 'typebox/compile';
import { ProviderRefusal } from './provider-problem-error.ts';
import type { ActivationRequest, QrProvider } from './qr-provider.ts';

/** An answer that has not been written yet. */
export type Reply = {
  readonly status: number;
  readonly body: object;
  readonly retryAfterSeconds?: number;
};

const createCheck = Compile(CreateQrPayment);
const cancelCheck = Compile(CancelQrPayment);
const refundCheck = Compile(RefundQrPayment);

type Check<Value> = {
  Check(value: unknown): value is Value;
  Errors(value: unknown): readonly { instancePath: string; message: string }[];
};

function refuse(status: number, code: string, detail: string): never {
  throw new ProviderRefusal({ status, code, detail });
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return refuse(400, 'body_malformed', 'The body is no JSON.');
  }
}

/**
 * Accepts unknown members, because the interface will grow. The error names a position, never a
 * value.
 */
function read<Value>(check: Check<Value>, body: Uint8Array): Value {
  const value = parsed(body);
  if (check.Check(value)) return value;
  const [error] = check.Errors(value);
  const where = error === undefined ? '' : ` at ${error.instancePath || '/'}: ${error.message}`;
  return refuse(422, 'message_invalid', `The message is not as the interface has it${where}.`);
}

function demandSame(named: string, inPath: string): void {
  if (named.toLowerCase() === inPath.toLowerCase()) return;
  refuse(422, 'message_invalid', 'The message names another payment than the address.');
}

const found = (answer: object | undefined, what: 'payment' | 'refund'): Reply =>
  answer === undefined
    ? refuse(404, `${what}_not_found`, `This ${what} never came.`)
    : { status: 200, body: answer };

async function activation(provider: QrProvider, body: Uint8Array): Promise<Reply> {
  const { type, data } = Object(parsed(body)) as { type?: unknown; data?: unknown };
  if (typeof data !== 'object' || data === null) {
    return refuse(422, 'message_invalid', 'The message has no data.');
  }
  const request = data as ActivationRequest;
  if (type === 'service.deactivated') {
    await provider.deactivated?.(request);
    return { status: 200, body: {} };
  }
  if (type !== 'service.activation_requested') {
    return refuse(422, 'type_unknown', 'A message of this type is not known here.');
  }
  const decision = (await provider.activate?.(request)) ?? { status: 'Accepted' };
  return decision.status === 'Later' ? { status: 202, body: {} } : { status: 200, body: decision };
}

const uuid = '([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})';

type Route = {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  answer(provider: QrProvider, body: Uint8Array, ids: readonly string[]): Promise<Reply>;
};

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: new RegExp(`^${providerPaths.payments}$`),
    async answer(provider, body) {
      const answer = await provider.create(read(createCheck, body));
      const isLater = answer.status === 'Created' && answer.display === undefined;
      return { status: isLater ? 202 : 200, body: answer };
    },
  },
  {
    method: 'GET',
    path: new RegExp(`^${providerPaths.payment(uuid)}$`),
    answer: async (provider, _body, [id = '']) => found(await provider.find(id), 'payment'),
  },
  {
    method: 'POST',
    path: new RegExp(`^${providerPaths.cancel(uuid)}$`),
    async answer(provider, body, [id = '']) {
      const cancel = read(cancelCheck, body);
      demandSame(cancel.platformTransactionId, id);
      return { status: 200, body: await provider.cancel(cancel) };
    },
  },
  {
    method: 'POST',
    path: new RegExp(`^${providerPaths.refunds(uuid)}$`),
    async answer(provider, body, [id = '']) {
      const refund = read(refundCheck, body);
      demandSame(refund.platformTransactionId, id);
      const answer = await provider.refund(refund);
      return { status: answer.status === 'Pending' ? 202 : 200, body: answer };
    },
  },
  {
    method: 'GET',
    path: new RegExp(`^${providerPaths.refund(uuid, uuid)}$`),
    answer: async (provider, _body, [id = '', refundId = '']) =>
      found(await provider.findRefund(id, refundId), 'refund'),
  },
  {
    method: 'GET',
    path: new RegExp(`^${providerPaths.health}$`),
    answer: async (provider) => ({
      status: 200,
      body: (await provider.health?.()) ?? { status: 'Up' },
    }),
  },
  {
    method: 'POST',
    path: /^\/?$/,
    answer: (provider, body) => activation(provider, body),
  },
];

/** True if the path belongs to the interface, for any method. The query is ignored. */
export function isAddress(path: string): boolean {
  const [place = ''] = path.split('?');
  return routes.some((route) => route.path.test(place));
}

/**
 * Runs the operation that belongs to an address.
 *
 * @throws ProviderRefusal for an unknown address, a wrong message or a refusal by the provider
 */
export async function answerCall(
  provider: QrProvider,
  call: { readonly method: string; readonly path: string; readonly body: Uint8Array },
): Promise<Reply> {
  const here = routes.filter(({ path }) => path.test(call.path));
  const route = here.find(({ method }) => method === call.method);
  if (route !== undefined) {
    const [, ...ids] = route.path.exec(call.path) ?? [];
    return route.answer(provider, call.body, ids);
  }
  return here.length === 0
    ? refuse(404, 'address_unknown', 'There is no such address.')
    : refuse(405, 'method_not_allowed', 'This address is not asked so.');
}
