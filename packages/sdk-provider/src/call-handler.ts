/** Verifies and answers the platform's calls from any HTTP server; it never throws. */
import { defined, providerCallText } from '@switchyard/contract';
import { systemClock } from '@switchyard/sdk-core';
import { type CallHeaders, verifyCall } from './call-signatures.ts';
import type { Clock } from './clock.ts';
import { ProviderProblemError, toProblemBody } from './provider-problem-error.ts';
import type { Awaitable, QrProvider } from './qr-provider.ts';
import { type CallAnswer, isKnownPath, routeCall } from './route-call.ts';

/**
 * The options for answering calls.
 *
 * @example
 * const options: ProviderCallHandlerOptions = { provider, secrets: ['whsec_…'] };
 */
export type ProviderCallHandlerOptions = {
  readonly provider: QrProvider;
  /**
   * The service's `whsec_…` secrets: also the old one during a renewal. Or a function that returns
   * them.
   */
  readonly secrets: readonly string[] | (() => Awaitable<readonly string[]>);
  readonly clock?: Clock;
  /** Receives an error of an operation that is not a refusal; the answer is a 500 in any case. */
  onError?(error: unknown, call: { readonly method: string; readonly path: string }): void;
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
 * const { status, headers, body }: ProviderResponse = await answer(call);
 */
export type ProviderResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Converts an answer to the status, headers and body of an HTTP response. */
export function toResponse({ status, body, retryAfterSeconds }: CallAnswer): ProviderResponse {
  const headers = {
    'content-type': status >= 400 ? 'application/problem+json' : 'application/json',
    'cache-control': 'no-store',
    ...defined({
      'retry-after': retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds),
    }),
  };
  return { status, headers, body: JSON.stringify(body) };
}

export const problemAnswer = (status: number, code: string, detail: string): CallAnswer => ({
  status,
  body: toProblemBody({ status, code, detail }),
});

const answerFromError = ({ details: facts }: ProviderProblemError): CallAnswer => ({
  status: facts.status,
  body: toProblemBody(facts),
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
 * const answer = createProviderCallHandler({ provider, secrets: [secret] });
 * const { status, headers, body } = await answer({ method, path, headers: request.headers, body: bytes });
 * ```
 */
export function createProviderCallHandler(
  options: ProviderCallHandlerOptions,
): (call: ProviderCall) => Promise<ProviderResponse> {
  const { provider, secrets, clock = systemClock } = options;

  async function isGenuine({ method, path, headers, body }: ProviderCall): Promise<boolean> {
    const text = method === 'GET' ? providerCallText('GET', path) : body;
    const currentSecrets = typeof secrets === 'function' ? await secrets() : secrets;
    return verifyCall({ headers, text, secrets: currentSecrets, now: clock.now() }).isGenuine;
  }

  async function answerCall(call: ProviderCall): Promise<CallAnswer> {
    const { method, path } = call;
    try {
      // Answered before the signature check, so that a wrong address is not mistaken for a wrong
      // secret.
      if (!isKnownPath(path))
        return problemAnswer(404, 'address_unknown', 'There is no such address.');
      if (!(await isGenuine(call))) {
        return problemAnswer(401, 'signature_invalid', 'The call is not signed by the platform.');
      }
      return await routeCall(provider, { ...call, path: path.split('?')[0] ?? '' });
    } catch (error) {
      if (error instanceof ProviderProblemError) return answerFromError(error);
      options.onError?.(error, { method, path });
      return problemAnswer(500, 'internal_error', 'The provider failed.');
    }
  }

  return async (call) => toResponse(await answerCall(call));
}
