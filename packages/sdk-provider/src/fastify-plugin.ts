/** The provider as a Fastify plug-in. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createProviderHttpHandler, type ProviderHttpHandlerOptions } from './http-handler.ts';

/**
 * The part of Fastify that the plug-in uses, so that this package does not depend on Fastify.
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
 * Makes a plug-in that answers the platform's calls below its prefix. The provider reads the bodies
 * itself, because a signature covers the bytes and not the parsed value.
 *
 * @param options - as for {@link createProviderHttpHandler}; `path` is the path before the prefix
 * @returns a plug-in for `app.register`
 * @example
 * ```ts
 * const app = Fastify();
 * await app.register(providerFastifyPlugin({ provider, secrets: [secret] }), { prefix: '/switchyard' });
 * await app.listen({ port: 8585 });
 * ```
 */
export function providerFastifyPlugin(
  options: ProviderHttpHandlerOptions,
): (scope: FastifyScope) => Promise<void> {
  return async (scope) => {
    const path = `${(options.path ?? '').replace(/\/+$/, '')}${scope.prefix}`;
    const handler = createProviderHttpHandler({ ...options, path });
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
