/** Signs a user in with the browser: authorization code, PKCE and a loopback redirect (RFC 8252). */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { escapeText } from '../../output/escape-text.ts';
import { CommandError, fail } from '../../runtime/command-error.ts';
import type { Session } from '../../session/session.ts';

const waitMs = 5 * 60 * 1000;
const randomToken = () => randomBytes(32).toString('base64url');
const isEqual = (one: string, other: string) =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const page = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>Switchyard</title><p>${text} You can close this window.</p>`;

function sendPage(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    connection: 'close',
  });
  response.end(page(text));
}

/** The parameters of the callback with our `state`; undefined for every other request. */
function parseCallback(
  request: IncomingMessage,
  redirect: URL,
  state: string,
): URLSearchParams | undefined {
  const url = new URL(request.url ?? '/', redirect);
  if (request.method !== 'GET' || url.pathname !== redirect.pathname) return undefined;
  return isEqual(url.searchParams.get('state') ?? '', state) ? url.searchParams : undefined;
}

function startListening(server: Server, redirect: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CommandError(
          'fault',
          `The command cannot listen on ${redirect.host}: ${error.code}. Choose another port with --redirect-uri.`,
        ),
      ),
    );
    server.listen(Number(redirect.port || 80), redirect.hostname.replace(/^\[|\]$/g, ''), resolve);
  });
}

async function waitForCallback(
  server: Server,
  redirect: URL,
  state: string,
  stopping: AbortSignal,
): Promise<string> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(waitMs)]);
  return new Promise<string>((resolve, reject) => {
    signal.addEventListener('abort', () =>
      reject(
        new CommandError(
          'interrupted',
          'The sign-in was not completed in the browser. Run the command again.',
        ),
      ),
    );
    server.on('request', (request, response) => {
      const parameters = parseCallback(request, redirect, state);
      if (parameters === undefined) return sendPage(response, 404, 'This page does not exist.');
      const code = parameters.get('code');
      if (code !== null) {
        sendPage(response, 200, 'You are signed in.');
        return resolve(code);
      }
      sendPage(response, 200, 'You were not signed in.');
      const reason =
        parameters.get('error_description') ??
        parameters.get('error') ??
        'the server gave no reason';
      return reject(new CommandError('notSignedIn', `The sign-in was rejected: ${reason}`));
    });
  });
}

function requireLoopbackUrl(text: string): URL {
  const url = URL.canParse(text)
    ? new URL(text)
    : fail('usage', `“${text}” is not a valid URL. Enter one such as https://pay.example.`);
  const isLoopback =
    url.protocol === 'http:' && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  return isLoopback && url.port !== ''
    ? url
    : fail(
        'usage',
        '--redirect-uri must be an http address of this machine with a port, such as http://localhost:8976/callback.',
      );
}

export async function loginWithBrowser(
  { environment, output }: CommandContext,
  session: Session,
  redirectUri: string,
): Promise<void> {
  const redirect = requireLoopbackUrl(redirectUri);
  const [state, verifier] = [randomToken(), randomToken()];
  const server = createServer();
  const { profile } = session;
  try {
    await startListening(server, redirect);
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
    output.printNote(`Open this address in a browser:\n\n  ${escapeText(address.href)}\n`);
    const code = await waitForCallback(server, redirect, state, environment.stopping);
    await session.signIn({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
