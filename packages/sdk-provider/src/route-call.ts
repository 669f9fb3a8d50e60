/** Maps the address and body of a call to an operation of the provider, and returns its answer. */
import {
  CancelQrPayment,
  CreateQrPayment,
  providerPaths,
  RefundQrPayment,
} from '@switchyard/contract';
import { Compile } from 'typebox/compile';
import { ProviderProblemError } from './provider-problem-error.ts';
import type { ActivationRequest, QrProvider } from './qr-provider.ts';

/** An answer that has not been written yet. */
export type CallAnswer = {
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

function throwProblem(status: number, code: string, detail: string): never {
  throw new ProviderProblemError({ status, code, detail });
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return throwProblem(400, 'body_malformed', 'The body is not valid JSON.');
  }
}

/**
 * Accepts unknown members, because the interface will grow. The error names a position, never a
 * value.
 */
function parseMessage<Value>(check: Check<Value>, body: Uint8Array): Value {
  const value = parseJson(body);
  if (check.Check(value)) return value;
  const [error] = check.Errors(value);
  const position = error === undefined ? '' : ` at ${error.instancePath || '/'}: ${error.message}`;
  return throwProblem(
    422,
    'message_invalid',
    `The message does not match the interface${position}.`,
  );
}

function requireSameId(idInBody: string, idInPath: string): void {
  if (idInBody.toLowerCase() === idInPath.toLowerCase()) return;
  throwProblem(422, 'message_invalid', 'The message and the path name different payments.');
}

const answerOrNotFound = (
  answer: object | undefined,
  resource: 'payment' | 'refund',
): CallAnswer =>
  answer === undefined
    ? throwProblem(404, `${resource}_not_found`, `The provider did not receive this ${resource}.`)
    : { status: 200, body: answer };

const activationStatuses: readonly unknown[] = ['Accepted', 'Refused', 'Later'];

async function answerActivation(provider: QrProvider, body: Uint8Array): Promise<CallAnswer> {
  const { type, data } = Object(parseJson(body)) as { type?: unknown; data?: unknown };
  if (typeof data !== 'object' || data === null) {
    return throwProblem(422, 'message_invalid', 'The message has no data.');
  }
  const request = data as ActivationRequest;
  if (type === 'service.deactivated') {
    await provider.deactivated?.(request);
    return { status: 200, body: {} };
  }
  if (type !== 'service.activation_requested') {
    return throwProblem(422, 'type_unknown', 'The message type is unknown.');
  }
  const decision =
    provider.activate === undefined
      ? ({ status: 'Accepted' } as const)
      : await provider.activate(request);
  // JavaScript code may return nothing, which must not activate the service.
  if (!activationStatuses.includes(decision?.status)) {
    throw new TypeError('activate must return the status Accepted, Refused or Later');
  }
  return decision.status === 'Later' ? { status: 202, body: {} } : { status: 200, body: decision };
}

const uuid = '([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})';

type Route = {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  answer(provider: QrProvider, body: Uint8Array, ids: readonly string[]): Promise<CallAnswer>;
};

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: new RegExp(`^${providerPaths.payments}$`),
    async answer(provider, body) {
      const answer = await provider.create(parseMessage(createCheck, body));
      const isLater = answer.status === 'Created' && answer.display === undefined;
      return { status: isLater ? 202 : 200, body: answer };
    },
  },
  {
    method: 'GET',
    path: new RegExp(`^${providerPaths.payment(uuid)}$`),
    answer: async (provider, _body, [id = '']) =>
      answerOrNotFound(await provider.find(id), 'payment'),
  },
  {
    method: 'POST',
    path: new RegExp(`^${providerPaths.cancel(uuid)}$`),
    async answer(provider, body, [id = '']) {
      const cancel = parseMessage(cancelCheck, body);
      requireSameId(cancel.platformTransactionId, id);
      return { status: 200, body: await provider.cancel(cancel) };
    },
  },
  {
    method: 'POST',
    path: new RegExp(`^${providerPaths.refunds(uuid)}$`),
    async answer(provider, body, [id = '']) {
      const refund = parseMessage(refundCheck, body);
      requireSameId(refund.platformTransactionId, id);
      const answer = await provider.refund(refund);
      return { status: answer.status === 'Pending' ? 202 : 200, body: answer };
    },
  },
  {
    method: 'GET',
    path: new RegExp(`^${providerPaths.refund(uuid, uuid)}$`),
    answer: async (provider, _body, [id = '', refundId = '']) =>
      answerOrNotFound(await provider.findRefund(id, refundId), 'refund'),
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
    answer: (provider, body) => answerActivation(provider, body),
  },
];

/** True if the path belongs to the interface, for any method. The query is ignored. */
export function isKnownPath(path: string): boolean {
  const [pathname = ''] = path.split('?');
  return routes.some((route) => route.path.test(pathname));
}

/**
 * Runs the operation that belongs to an address.
 *
 * @throws ProviderProblemError for an unknown address, a wrong message or a refusal by the provider
 */
export async function routeCall(
  provider: QrProvider,
  call: { readonly method: string; readonly path: string; readonly body: Uint8Array },
): Promise<CallAnswer> {
  const matchingRoutes = routes.filter(({ path }) => path.test(call.path));
  const route = matchingRoutes.find(({ method }) => method === call.method);
  if (route !== undefined) {
    const [, ...ids] = route.path.exec(call.path) ?? [];
    return route.answer(provider, call.body, ids);
  }
  return matchingRoutes.length === 0
    ? throwProblem(404, 'address_unknown', 'There is no such address.')
    : throwProblem(405, 'method_not_allowed', 'This address does not support the method.');
}
