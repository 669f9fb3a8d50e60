/** Signs a person in with the browser: authorization code and PKCE, answered on this machine (RFC 8252). */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Kit } from '../../command-line/command-runner.ts';
import { createTransport } from '../../http/https-transport.ts';
import { visible } from '../../output/escape-text.ts';
import { CommandFault, fail } from '../../runtime/command-error.ts';
import { readNamed } from '../../session/private-files.ts';
import type { Profile } from '../../session/profiles.ts';
import { requestToken } from '../../session/token-request.ts';
import { openTokenStore } from '../../session/token-store.ts';

const waitMs = 5 * 60 * 1000;
const random = () => randomBytes(32).toString('base64url');
const same = (one: string, other: string) =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const page = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>Switchyard</title><p>${text} You can close this window.</p>`;

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    connection: 'close',
  });
  response.end(page(text));
}

/** The code of the one callback that carries our state; others are told to go away. */
function codeOf(
  request: IncomingMessage,
  redirect: URL,
  state: string,
): URLSearchParams | undefined {
  const url = new URL(request.url ?? '/', redirect);
  if (request.method !== 'GET' || url.pathname !== redirect.pathname) return undefined;
  return same(url.searchParams.get('state') ?? '', state) ? url.searchParams : undefined;
}

function listen(server: Server, redirect: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new CommandFault('fault', `${redirect.host} cannot be listened on: ${error.code}.`)),
    );
    server.listen(Number(redirect.port || 80), redirect.hostname.replace(/^\[|\]$/g, ''), resolve);
  });
}

async function callback(
  server: Server,
  redirect: URL,
  state: string,
  stopping: AbortSignal,
): Promise<string> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(waitMs)]);
  return new Promise<string>((resolve, reject) => {
    signal.addEventListener('abort', () =>
      reject(new CommandFault('interrupted', 'Nobody signed in.')),
    );
    server.on('request', (request, response) => {
      const found = codeOf(request, redirect, state);
      if (found === undefined) return answer(response, 404, 'There is nothing here.');
      const code = found.get('code');
      if (code !== null) {
        answer(response, 200, 'You are signed in.');
        return resolve(code);
      }
      answer(response, 200, 'You were not signed in.');
      const reason = found.get('error_description') ?? found.get('error') ?? 'no reason was given';
      return reject(new CommandFault('notSignedIn', `The sign-in was refused: ${reason}`));
    });
  });
}

function demandLoopback(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : fail('usage', `“${text}” is no address.`);
  const isOurs =
    url.protocol === 'http:' && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  return isOurs && url.port !== ''
    ? url
    : fail('usage', '--redirect-uri has to be http, on this machine, with a port.');
}

export async function signInByWeb(
  { world, screen, globals }: Kit,
  profile: Profile,
  redirectUri: string,
): Promise<void> {
  const redirect = demandLoopback(redirectUri);
  const [state, verifier] = [random(), random()];
  const server = createServer();
  const ca = profile.caFile === undefined ? undefined : readNamed(profile.caFile);
  const transport = createTransport({ ca, timeoutMs: globals.timeout * 1000 });
  try {
    await listen(server, redirect);
    const address = new URL(
      `/oauth2/v1/${encodeURIComponent(profile.userDomainId)}/auth`,
      profile.authUrl,
    );
    address.search = new URLSearchParams({
      response_type: 'code',
      client_id: profile.clientId,
      redirect_uri: redirectUri,
      scope: 'openid profile',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString();
    screen.note(`Open this address in a browser:\n\n  ${visible(address.href)}\n`);
    const code = await callback(server, redirect, state, world.stopping);
    const form = {
      grant_type: 'authorization_code',
      client_id: profile.clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    openTokenStore(world, profile).keep(
      await requestToken(transport, profile, form, world.clock.now()),
    );
  } finally {
    server.close();
    server.closeAllConnections();
    transport.close();
  }
}
