// A realm with its sign-in pages on the real server, with recorded mail and test users.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defined, type SignUpInput } from '@switchyard/contract';
import { createHttp, type Http } from '../../../src/http/index.ts';
import {
  createLog,
  type Database,
  ensureListenerCertificate,
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import { testDatabase } from '../database/test-database.ts';
import { freePorts } from '../free-ports.ts';
import { highLoadLimits } from '../high-load-limits.ts';
import {
  type MovableClock,
  movableClock,
  openTestRealm,
  type TestRealm,
  type TestRealmOptions,
} from '../identity/test-realm.ts';
import { createMailRecorder, type MailRecorder } from '../mail/mail-recorder.ts';
import {
  type Browser,
  type BrowserResponse,
  createBrowser,
  injectionTransport,
} from './cookie-browser.ts';
import { authorizationUrl } from './sign-in-without-pages.ts';

export const redirectUri = 'https://shop.example/callback';

export type SignInPages = {
  readonly realm: TestRealm;
  readonly clock: MovableClock;
  readonly mailRecorder: MailRecorder;
  /** The inputs that the sign-up form submitted. */
  readonly signUpInputs: readonly SignUpInput[];
  readonly authUrl: string;
  /** The certificate of the server, PEM. */
  readonly certificate: string;
  readonly clientId: string;
  /** The link of the application that starts a sign-in. */
  readonly link: string;
  /** `/auth/realms/{realm}` */
  readonly base: string;
  /** A browser without a window, with its own cookies. */
  openBrowser(): Browser;
  /** The application's link with additional parameters. */
  linkWith(parameters: Readonly<Record<string, string>>): string;
  close(): Promise<void>;
};

export type SignInPagesOptions = {
  readonly clientName?: string;
  readonly redirectUri?: string;
  readonly clock?: MovableClock;
  /** Default: the shared database. */
  readonly database?: Database;
  readonly settings?: TestRealmOptions['pages'];
  /** Page requests that an IP address may send in a minute; default: more than a test sends. */
  readonly pagesPerMinute?: number;
  /** Opens a TLS port for real browsers. */
  readonly listens?: boolean;
};

export async function openSignInPages(deps: SignInPagesOptions = {}): Promise<SignInPages> {
  const { listens = false, clock = movableClock(), redirectUri: callback = redirectUri } = deps;
  const host = '127.0.0.1';
  const [port = 8443] = listens ? await freePorts(1) : [];
  const authUrl = `https://localhost:${port}`;
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-pages-'));
  const tls = await ensureListenerCertificate({
    settings: { dataDir, host, tlsCertFile: undefined, tlsKeyFile: undefined },
    clock: { now: () => Date.now() },
  });
  const mailRecorder = createMailRecorder();
  const signUpInputs: SignUpInput[] = [];
  let http: Http | undefined;
  const realm = await openTestRealm({
    database: deps.database ?? (await testDatabase()),
    clock,
    authUrl,
    environment: 'demo',
    jobs: mailRecorder.jobs,
    mail: mailRecorder.mail,
    ...defined({ pages: deps.settings }),
    async openApp({ verifyToken, registerSignUpPages }) {
      http = await createHttp({
        settings: { host, port, baseUrl: authUrl, authUrl },
        tls: { cert: tls.cert, key: tls.key },
        log: createLog({ logLevel: 'silent', instanceName: 'test' }),
        ids: systemIdGenerator,
        verifyToken,
        loadLimits: highLoadLimits,
        rateLimits: { pages: { windowSeconds: 60, limit: deps.pagesPerMinute ?? 10_000 } },
      });
      registerSignUpPages(http.app, async (input) => void signUpInputs.push(input));
      return http.app;
    },
  });
  if (listens) await http?.listen();
  const { clientId } = await realm.createApplication({
    name: deps.clientName ?? 'Shop Portal',
    securityFlows: ['AuthorizationCode'],
    redirectUris: [callback],
  });
  const base = `/auth/realms/${realm.userDomainId}`;
  const linkWith = (parameters: Readonly<Record<string, string>>): string =>
    authorizationUrl(`${base}/protocol/openid-connect/auth`, {
      client_id: clientId,
      redirect_uri: callback,
      ...parameters,
    });
  return {
    realm,
    clock,
    mailRecorder,
    signUpInputs,
    authUrl,
    clientId,
    base,
    linkWith,
    certificate: tls.cert,
    link: linkWith({}),
    openBrowser: () => createBrowser(authUrl, injectionTransport(realm.app)),
    async close() {
      await http?.close();
      await realm.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export type PageForm = {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
};

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** The forms of a page, with their target addresses and hidden fields. */
export function readForms({ text }: Pick<BrowserResponse, 'text'>): PageForm[] {
  return [...text.matchAll(/<form method="post" action="([^"]*)"[\s\S]*?<\/form>/g)].map(
    ([whole, action = '']) => ({
      action: unescapeHtml(action),
      hidden: Object.fromEntries(
        [...whole.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
          ([, name = '', value = '']) => [name, unescapeHtml(value)],
        ),
      ),
    }),
  );
}

export type SubmitOptions = {
  /** The end of the form's address; default: the first form. */
  readonly to?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Fills in a form of the page and submits it; it does not follow a redirect. */
export function submitForm(
  browser: Browser,
  page: BrowserResponse,
  fields: Readonly<Record<string, string>>,
  { to = '', headers = {} }: SubmitOptions = {},
): Promise<BrowserResponse> {
  const form = readForms(page).find(({ action }) => action.split('?', 1)[0]?.endsWith(to));
  assert.ok(form !== undefined, `a form to ${to} in\n${page.text}`);
  return browser.visit(new URL(form.action, page.url), {
    form: { ...form.hidden, ...fields },
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  });
}

/** Follows the redirects of a submitted form within this server. */
export async function followRedirects(
  browser: Browser,
  response: BrowserResponse,
): Promise<BrowserResponse> {
  assert.ok(
    response.location !== undefined,
    `a redirect, not ${response.status}\n${response.text}`,
  );
  return browser.browse(response.location);
}
