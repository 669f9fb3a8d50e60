// The HTTP server: one Fastify over TLS with the house rules that every route obeys.
import Fastify, { type FastifyInstance } from 'fastify';
import type { VerifyToken } from './caller.ts';
import { createListener, type ListenerTls } from './listener.ts';

/** The part of the settings that matters here. */
export type HttpSettings = {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly trustProxy?: string | undefined;
};

export type HttpDeps = {
  readonly settings: HttpSettings;
  /** Left out only behind a trusted proxy that ends TLS itself. */
  readonly tls?: ListenerTls;
  readonly verifyToken: VerifyToken;
};

export type Http = {
  /** Rooms register their routes on it before `listen`. */
  readonly app: FastifyInstance;
  listen(): Promise<{ host: string; port: number }>;
  close(): Promise<void>;
};

export async function createHttp({ settings, tls }: HttpDeps): Promise<Http> {
  const app = Fastify({ serverFactory: (handler) => createListener(handler, tls) });
  return {
    app,
    async listen() {
      await app.listen({ host: settings.host, port: settings.port });
      const [address] = app.addresses();
      return { host: address?.address ?? settings.host, port: address?.port ?? settings.port };
    },
    close: () => app.close(),
  };
}
