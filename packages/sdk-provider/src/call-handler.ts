/** Verifies and answers the platform's calls from any HTTP server; it never throws. */
import { defined, providerCallText } from '@switchyard/contract';
import { type CallHeaders, verifyCall } from './call-signatures.ts';
import { type Clock, systemClock } from './clock.ts';
import { ProviderRefusal, problemOf } from './provider-problem-error.ts';
import type { Awaitable, QrProvider } from './qr-provider.ts';
import { answerCall, isAddress, type Reply } from './route-call.ts';

/**
 * The options for answering calls.
 *
 * @example
 * const options: ProviderCallsOptions = { provider, secrets: ['whsec_…'] };
 */
export type ProviderCallsOptions = {
  readonly provider: QrProvider;
  /**
   * The service's `whsec_…` secrets: also the old one during a renewal. Or a function that returns
   * them.
   */
  readonly secrets: readonly string[] | (() => Awaitable<readonly string[]>);
  readonly clock?: Clock;
  /** Receives an error of an operation that is not a refusal; the answer is a 500 in any case. */
  onFault?(error: unknown, call: { readonly method: string; readonly path: string }): void;
};

/**
 * A call as it arrived, with its raw body.
 *
 * @example
 * const call: ProviderCall = { method: 'GET', path: '/health', headers, body: new Uint8Array() };
 */
export type ProviderCall = {
  readonly method: string;
  /** The path below the address that the service declares. */
  readonly path: string;
  /** Header names in lower case. */
  readonly headers: CallHeaders;
  readonly body: Uint8Array;
};

/**
 * An answer to write.
 *
 * @example
 * const { status, headers, body }: ProviderReply = await answer(call);
 */
export type ProviderReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Converts an answer to the status, headers and body of an HTTP response. */
export function written({ status, body, retryAfterSeconds }: Reply): ProviderReply {
  const headers = {
    'content-type': status >= 400 ? 'application/problem+json' : 'application/json',
    'cache-control': 'no-store',
    ...defined({
      'retry-after': retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds),
    }),
  };
  return { status, headers, body: JSON.stringify(body) };
}

export const problem = (status: number, code: string, detail: string): Reply => ({
  status,
  body: problemOf({ status, code, detail }),
});

const refusalOf = ({ facts }: ProviderRefusal): Reply => ({
  status: facts.status,
  body: problemOf(facts),
  ...defined({ retryAfterSeconds: facts.retryAfterSeconds }),
});

/**
 * Makes a function that answers calls, for servers other than `node:http` and Fastify. It checks
 * the address, verifies the signature, validates the message and calls the provider.
 *
 * @param options - the provider and its secrets
 * @returns a function from a call to its answer, which never throws. The caller reads the body, at
 * most 64 KiB of it.
 * @example
 * ```ts
 * const answer = createProviderCalls({ provider, secrets: [secret] });
 * const { status, headers, body } = await answer({ method, path, headers: request.headers, body: bytes });
 * ```
 */
export function createProviderCalls(
  options: ProviderCallsOptions,
): (call: ProviderCall) => Promise<ProviderReply> {
  const { provider, secrets, clock = systemClock } = options;

  async function isGenuine({ method, path, headers, body }: ProviderCall): Promise<boolean> {
    const text = method === 'GET' ? providerCallText('GET', path) : body;
    const known = typeof secrets === 'function' ? await secrets() : secrets;
    return verifyCall({ headers, text, secrets: known, now: clock.now() }).isGenuine;
  }

  async function reply(call: ProviderCall): Promise<Reply> {
    const { method, path } = call;
    try {
      // Answered before the signature check, so that a wrong address is not mistaken for a wrong
      // secret.
      if (!isAddress(path)) return problem(404, 'address_unknown', 'There is no such address.');
      if (!(await isGenuine(call))) {
        return problem(401, 'signature_invalid', 'The call is not signed by the platform.');
      }
      return await answerCall(provider, { ...call, path: path.split('?')[0] ?? '' });
    } catch (error) {
      if (error instanceof ProviderRefusal) return refusalOf(error);
      options.onFault?.(error, { method, path });
      return problem(500, 'internal_error', 'The provider failed.');
    }
  }

  return async (call) => written(await reply(call));
}
