// A small shop application protected by keycloak-connect, with the minimum of Express that the
// library needs.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type Keycloak from 'keycloak-connect';

type Session = Record<string, unknown> & { readonly id: string };
type ShopRequest = IncomingMessage & Record<string, unknown>;
type ShopResponse = ServerResponse & Record<string, unknown>;
type Step = (request: ShopRequest, response: ShopResponse, next: () => void) => void;

export type KeycloakApp = {
  readonly address: string;
  /** The data of the signed-in user at the last visit to `/private`. */
  readonly greeted: Record<string, unknown>[];
  /** Protects `/private`. */
  protectWith(keycloak: Keycloak.Keycloak): void;
  close(): Promise<void>;
};

function dress(request: ShopRequest, response: ShopResponse, session: Session): void {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  Object.assign(request, {
    session,
    protocol: 'http',
    hostname: url.hostname,
    originalUrl: request.url,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
  });
  Object.assign(response, {
    redirect: (to: string) => response.writeHead(302, { location: to }).end(),
    status(code: number) {
      response.statusCode = code;
      return response;
    },
  });
}

export async function openKeycloakApp(): Promise<KeycloakApp> {
  // The application has one session, so it serves one visitor at a time.
  const session: Session = { id: 'the only one' };
  const greeted: Record<string, unknown>[] = [];
  let steps: Step[] = [];

  function greet(request: ShopRequest, response: ShopResponse): void {
    const { grant } = request['kauth'] as { grant: { access_token: { content: object } } };
    greeted.push(grant.access_token.content as Record<string, unknown>);
    response.end('hello');
  }

  const server = createServer((raw, rawResponse) => {
    const request = raw as ShopRequest;
    const response = rawResponse as ShopResponse;
    dress(request, response, session);
    const stepsLeft = [...steps, greet];
    const next = (): void => stepsLeft.shift()?.(request, response, next);
    next();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  assert.ok(typeof at === 'object' && at !== null);
  return {
    address: `http://127.0.0.1:${at.port}`,
    greeted,
    protectWith(keycloak) {
      const made = [...[keycloak.middleware()].flat(), keycloak.protect()];
      steps = made as unknown as Step[];
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
