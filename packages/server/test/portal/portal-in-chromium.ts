// The built portal for screen tests: a separate platform serves it, and a user is signed in by a
// real browser.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { DemoFacts as WholeFacts } from '../../src/demo/demo-json.ts';
import {
  assertAccessible,
  assertNoHorizontalScroll,
} from '../support/browser/accessibility-check.ts';
import { openChromium } from '../support/browser/chromium.ts';
import type { Client } from '../support/https-client.ts';
import { otpCodeAt } from '../support/identity/test-users.ts';
import { createDemoServer } from '../support/processes/demo-server.ts';
import type { DemoFacts, ServerProcess } from '../support/processes/server-process.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
/** A long limit, because the machine may be busy. */
const waitLimitMs = 90_000;
const buildLimitMs = 300_000;
export const wide = { width: 1440, height: 900 };
const narrow = { width: 390, height: 844 };
/** A name that contains a script and a very long word. */
export const hostileName = `<img src=x onerror="document.title='owned'">${'W'.repeat(40)}`;

/** Console messages that no page may cause. */
const problemPattern = /Content Security Policy|not assignable|React|key/i;

export type PortalDemoFacts = DemoFacts &
  Pick<WholeFacts, 'deviceAuthUrl' | 'mailDir' | 'users' | 'serviceProvider'>;

type SignIn = BrowserContextOptions & {
  /** The portal offers the tour to new users; true skips it. */
  readonly isTourOver?: boolean;
};

type Steps = (page: Page) => Promise<void>;

export type TestPortal = {
  readonly server: ServerProcess;
  readonly client: Client;
  readonly facts: PortalDemoFacts;
  readonly base: string;
  readonly chromium: Browser;
  /** The token of a demo application, by its name in demo.json. */
  tokenOf(application: string): Promise<string>;
  /** A browser in which a user of the demo is signed in. */
  signedIn(username: string, options?: SignIn): Promise<BrowserContext>;
  /** Opens a screen in its own tab, and asserts that the browser reported no problem. */
  visitScreen(browserContext: BrowserContext, path: string, steps: Steps): Promise<void>;
  /** Runs the steps and asserts that the screen is accessible: wide and narrow, light and dark. */
  usable(browserContext: BrowserContext, path: string, steps?: Steps): Promise<void>;
  close(): Promise<void>;
};

/** Records the problems that the browser reports in a page from now on. */
export function recordBrowserProblems(page: Page): readonly string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (problemPattern.test(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (fault) => problems.push(String(fault)));
  return problems;
}

/** Asserts that no screen needs horizontal scrolling, on a desktop and on a phone. */
export async function assertFits(page: Page, name: string): Promise<void> {
  for (const size of [wide, narrow]) {
    await page.setViewportSize(size);
    await assertNoHorizontalScroll(page, `${name} at ${size.width}`);
  }
}

/** Waits until the screen has loaded all data. */
export const loaded = (page: Page) =>
  page.waitForSelector('#content [aria-busy="true"]', { state: 'detached' });

async function visitScreen(
  browserContext: BrowserContext,
  path: string,
  steps: Steps,
): Promise<void> {
  const page = await browserContext.newPage();
  const problems = recordBrowserProblems(page);
  try {
    await page.goto(path);
    await page.waitForSelector('#content h1');
    await steps(page);
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
  }
}

/** A tab in which one screen after the other is checked: a load of the whole portal takes a second. */
type Tab = { readonly page: Page; readonly problems: readonly string[]; readonly entry: string };
const tabs = new WeakMap<BrowserContext, Tab>();

async function openInTab(browserContext: BrowserContext, path: string): Promise<Tab> {
  const [, entry = ''] = path.split('/');
  const present = tabs.get(browserContext);
  if (present?.entry === entry) {
    // Another screen first: a screen of the same kind would keep its heading.
    for (const address of [`/${entry}/none`, path]) {
      await present.page.evaluate(`document.querySelector('#content h1').dataset.isOld = ''`);
      await present.page.evaluate(`history.pushState({}, '', '${address}')`);
      await present.page.waitForSelector('#content h1:not([data-is-old])');
    }
    return present;
  }
  await present?.page.close();
  const page = await browserContext.newPage();
  const tab = { page, problems: recordBrowserProblems(page), entry };
  tabs.set(browserContext, tab);
  await page.goto(path);
  await page.waitForSelector('#content h1');
  return tab;
}

async function assertUsable(page: Page, path: string, steps?: Steps): Promise<void> {
  await page.waitForSelector('[aria-busy="true"]', { state: 'detached' });
  // A screen whose data arrives replaces its heading.
  await page.waitForSelector('#content h1');
  await steps?.(page);
  await assertFits(page, path);
  await assertAccessible(page, path);
}

const usable: TestPortal['usable'] = async (browserContext, path, steps) => {
  if (steps !== undefined) {
    return visitScreen(browserContext, path, (page) => assertUsable(page, path, steps));
  }
  const { page, problems } = await openInTab(browserContext, path);
  await assertUsable(page, path);
  assert.deepEqual(problems, []);
};

function userOf(facts: PortalDemoFacts, username: string) {
  for (const { userDomainId, users } of [facts, facts.serviceProvider]) {
    const user = users.find((each) => each.username === username);
    if (user !== undefined) return { ...user, userDomainId };
  }
  return assert.fail(`the demo has no user ${username}`);
}

/** Signs in by the page of the realm, with a one-time password if the user has one. */
async function signIn(context: BrowserContext, user: ReturnType<typeof userOf>): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`/portal/sign-in?domain=${user.userDomainId}&to=/portal/`);
  await page.fill('#username', user.username);
  await page.fill('#password', user.password);
  if (user.otpSecret !== undefined) await page.fill('#code', otpCodeAt(user.otpSecret, Date.now()));
  await page.click('main button.primary');
  await page.waitForSelector('#content h1');
  await page.evaluate(`localStorage.setItem('switchyard-language', 'en')`);
  return page;
}

async function buildPortal(): Promise<void> {
  const build = [join(root, 'tools/build-site.ts'), 'portal'];
  await promisify(execFile)(process.execPath, build, { timeout: buildLimitMs });
}

/** @param name is part of the data directory's name */
export async function openPortal(name: string): Promise<TestPortal> {
  await buildPortal();
  const { dataDir, server, close: closeServer } = await createDemoServer(name);
  let chromium: Browser | undefined;
  async function close(): Promise<void> {
    await chromium?.close();
    await closeServer();
  }
  async function open(): Promise<TestPortal> {
    await server.start();
    const client = await server.client();
    const facts = (await server.demoFacts()) as PortalDemoFacts;
    const browser = await openChromium({
      certificate: await readFile(join(dataDir, 'tls/server.pem'), 'utf8'),
    });
    chromium = browser;
    return {
      server,
      client,
      facts,
      base: facts.baseUrl,
      chromium: browser,
      visitScreen,
      usable,
      close,

      tokenOf(application) {
        const { clientId = '', clientSecret = '' } = facts.applications[application] ?? {};
        return client.token(facts.userDomainId, clientId, clientSecret);
      },

      async signedIn(username, { isTourOver = false, ...options } = {}) {
        const context = await browser.newContext({
          baseURL: facts.baseUrl,
          locale: 'en-GB',
          viewport: wide,
          reducedMotion: 'reduce',
          ...options,
        });
        context.setDefaultTimeout(waitLimitMs);
        const page = await signIn(context, userOf(facts, username));
        if (isTourOver) await page.evaluate(`localStorage.setItem('switchyard-tour', 'over')`);
        await page.close();
        return context;
      },
    };
  }
  try {
    return await open();
  } catch (error) {
    await close();
    throw error;
  }
}
