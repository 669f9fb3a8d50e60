/** The provider as a plug-in of Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createProviderHandler, type ProviderHandlerOptions } from './handler.ts';

/**
 * What the plug-in uses of Fastify, so that this package does not need it.
 *
 * @example
 * const scope: FastifyScope = Fastify();
 */
export type FastifyScope = {
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    contentType: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null) => void) => void,
  ): unknown;
  all(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
    ) => void,
  ): unknown;
};

/**
 * Makes a plug-in that answers the calls of the platform, below the prefix that it is registered
 * with. Bodies are read by the provider itself: a signature is good for bytes, not for what a parser
 * makes of them.
 *
 * @param options - as for {@link createProviderHandler}; `path` is what stands before the prefix
 * @returns a plug-in for `app.register`
 * @example
 * ```ts
 * const app = Fastify();
 * await app.register(providerPlugin({ provider, secrets: [secret] }), { prefix: '/switchyard' });
 * await app.listen({ port: 8585 });
 * ```
 */
export function providerPlugin(
  options: ProviderHandlerOptions,
): (scope: FastifyScope) => Promise<void> {
  return async (scope) => {
    const path = `${(options.path ?? '').replace(/\/+$/, '')}${scope.prefix}`;
    const handler = createProviderHandler({ ...options, path });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    for (const address of ['/', '/*']) {
      scope.all(address, (request, reply) => {
        reply.hijack();
        handler(request.raw, reply.raw);
      });
    }
  };
}
