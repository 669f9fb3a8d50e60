// `bench portal`: what a browser fetches before it shows something, how soon it does, how soon it answers, and a long list.
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openChromium } from '../../../packages/server/test/support/browser/chromium.ts';
import { repositoryRoot } from '../../repository-root.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { makeFolder } from '../environment/platform.ts';
import { startServer } from '../environment/server-process.ts';
import type { BenchResult } from '../report/report.ts';
import { type Figure, figure, grouped, type Unit } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import { median } from '../sales/find-knee.ts';
import type { PrintLine } from '../sales/measured-step.ts';

/** The longest time between two frames that users do not notice as a stall. */
const frameGapLimitMs = 100;

type PortalFigures = {
  entryBytes: number;
  /** Of each opening with an empty cache, and with a full one: largest contentful paint. */
  coldPaintMs: number[];
  warmPaintMs: number[];
  /** From a press to the next picture, of each kind of press the longest. */
  answersMs: Record<string, number>;
  list: { rows: number; seconds: number; longestFrameMs: number; heapMib: number };
};

type DemoUser = { username: string; password: string; otpSecret?: string };
type Demo = { baseUrl: string; userDomainId: string; users: DemoUser[] };

const buildLimitMs = 300_000;
const openings = 7;
const pageRows = 200;
const rowsAtWork = 1_000;
const wheelSteps = 150;
const wheelPixels = 700;
const view = { width: 1440, height: 900 };

/** Scripts of the page, as texts: they run there and not here. */
const watchEvents = `globalThis.longestEvent = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) globalThis.longestEvent = Math.max(globalThis.longestEvent, entry.duration);
}).observe({ type: 'event', durationThreshold: 16, buffered: true });`;
const readPaint = `new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
    .observe({ type: 'largest-contentful-paint', buffered: true });
})`;
const watchFrames = `globalThis.longestFrame = 0;
let before = performance.now();
const look = () => {
  const now = performance.now();
  globalThis.longestFrame = Math.max(globalThis.longestFrame, now - before);
  before = now;
  requestAnimationFrame(look);
};
requestAnimationFrame(look);`;
/** To the end of what is known, again and again, until so many rows are. */
const fillTo = (rows: number) => `new Promise((done) => {
  const box = document.querySelector('.sy-table-box');
  const known = () => (box.querySelector('tbody').offsetHeight / 33) | 0;
  const go = () => {
    if (known() >= ${rows}) return done(known());
    box.scrollTop = box.scrollHeight;
    requestAnimationFrame(go);
  };
  go();
})`;

async function entryBytes(): Promise<number> {
  const dist = join(repositoryRoot, 'packages/portal/dist');
  const page = await readFile(join(dist, 'index.html'), 'utf8');
  const names = [...page.matchAll(/\/portal\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);
  const files = await Promise.all(names.map((name) => readFile(join(dist, name))));
  return files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
}

async function signIn(context: BrowserContext, demo: Demo): Promise<void> {
  const user = demo.users.find(({ otpSecret }) => otpSecret === undefined);
  if (user === undefined) throw new Error('every user of the demo has a one-time password');
  const page = await context.newPage();
  await page.goto(`/portal/sign-in?domain=${demo.userDomainId}&to=/portal/`);
  await page.fill('#username', user.username);
  await page.fill('#password', user.password);
  await page.click('main button.primary');
  await page.waitForSelector('#content h1');
  await page.close();
}

async function paintOf(context: BrowserContext, path: string): Promise<number> {
  const page = await context.newPage();
  await serveRows(page, rowsAtWork);
  await page.goto(path);
  await page.waitForSelector('.sy-table-link');
  await page.waitForSelector('[aria-busy="true"]', { state: 'detached' });
  const paint = (await page.evaluate(readPaint)) as number;
  await page.close();
  return paint;
}

/** Frequent user actions, each with the longest time to the next frame. */
async function answers(context: BrowserContext): Promise<Record<string, number>> {
  const page = await context.newPage();
  await page.addInitScript(watchEvents);
  await serveRows(page, rowsAtWork);
  await page.goto('/portal/payments');
  await page.waitForSelector('.sy-table-link');
  const longestEvents: Record<string, number> = {};
  const steps: [name: string, act: () => Promise<unknown>][] = [
    ['typing into the search', () => page.getByRole('searchbox').pressSequentially('till-7')],
    ['opening the user menu', () => page.click('.sy-user')],
    ['closing it', () => page.keyboard.press('Escape')],
    ['Ctrl+K', () => page.keyboard.press('Control+k')],
    ['choosing a screen', () => page.keyboard.press('Enter')],
  ];
  for (const [name, act] of steps) {
    await page.evaluate('globalThis.longestEvent = 0');
    await act();
    // Two frames later the browser has reported the event.
    await page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => setTimeout(done, 150)))',
    );
    longestEvents[name] = (await page.evaluate('globalThis.longestEvent')) as number;
  }
  await page.close();
  return longestEvents;
}

/** The platform's answers for a list of any length: what is measured is the page. */
async function serveRows(page: Page, rows: number): Promise<void> {
  await page.route('**/reporting/v1/transactions?*', async (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
    const items = Array.from({ length: Math.min(pageRows, rows - from) }, (_, at) => ({
      transactionId: `row-${from + at}`,
      clientTransactionId: `till:${from + at}`,
      kind: 'Card',
      state: 'Captured',
      amount: from + at,
      currency: 'EUR',
      scheme: 'Visa',
      maskedNumber: '411111******1111',
      createdAt: '2026-03-01T12:30:00.000Z',
    }));
    const end = from + items.length;
    await route.fulfill({ json: { items, nextCursor: end < rows ? String(end) : null } });
  });
}

async function longList(context: BrowserContext, rows: number): Promise<PortalFigures['list']> {
  const page = await context.newPage();
  await serveRows(page, rows);
  await page.goto('/portal/payments');
  await page.waitForSelector('.sy-table-link');
  const startedAt = performance.now();
  await page.evaluate(fillTo(rows - pageRows));
  const seconds = (performance.now() - startedAt) / 1_000;
  const box = await page.locator('.sy-table-box').boundingBox();
  await page.mouse.move((box?.x ?? 0) + 200, (box?.y ?? 0) + 200);
  await page.evaluate(watchFrames);
  for (let step = 0; step < wheelSteps; step += 1) {
    await page.mouse.wheel(0, step % 3 === 2 ? wheelPixels : -wheelPixels);
    await page.evaluate('new Promise((done) => requestAnimationFrame(done))');
  }
  const longestFrameMs = (await page.evaluate('globalThis.longestFrame')) as number;
  const heap = (await page.evaluate('performance.memory.usedJSHeapSize')) as number;
  await page.close();
  return { rows, seconds, longestFrameMs, heapMib: heap / 2 ** 20 };
}

async function openDemo(
  closers: CloseStack,
  keepsFolder: boolean,
): Promise<{ demo: Demo; chromium: Browser }> {
  const dataDir = join(makeFolder(closers, keepsFolder), 'platform');
  mkdirSync(dataDir);
  await startServer(closers, { dataDir, way: 'process' });
  const demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as Demo;
  const certificate = await readFile(join(dataDir, 'tls/server.pem'), 'utf8');
  const chromium = await openChromium({ certificate });
  closers.add(() => chromium.close());
  return { demo, chromium };
}

const kilobytes: Unit = (bytes) => `${(bytes / 1024).toFixed(0)} kB`;
const wholeMilliseconds: Unit = (ms) => `${ms.toFixed(0)} ms`;
/** The browser reports no event under 16 ms. */
const eventMilliseconds: Unit = (ms) => (ms === 0 ? 'under 16 ms' : wholeMilliseconds(ms));

const paintFigures = (name: string, paintsMs: readonly number[]): Figure[] => [
  figure(`${name}: largest contentful paint`, median(paintsMs), wholeMilliseconds, {
    under: targets.portal.paintMs,
  }),
  figure(`${name}: the slowest`, Math.max(...paintsMs), wholeMilliseconds),
];

function report(figures: PortalFigures): BenchResult {
  const { list } = figures;
  return {
    figures,
    sections: [
      {
        title: 'What is fetched first',
        figures: [
          figure('entry with its style, gzip', figures.entryBytes, kilobytes, {
            atMost: targets.portal.entryBytes,
          }),
        ],
      },
      {
        title: 'The list of payments is opened',
        figures: [
          ...paintFigures('nothing kept', figures.coldPaintMs),
          ...paintFigures('files kept', figures.warmPaintMs),
        ],
      },
      {
        title: 'From a press to the next picture',
        figures: Object.entries(figures.answersMs).map(([name, ms]) =>
          figure(name, ms, eventMilliseconds, { under: targets.portal.answerMs }),
        ),
      },
      {
        title: `A list of ${grouped(list.rows)} rows`,
        figures: [
          figure('scrolled to its end in', list.seconds, 'seconds'),
          figure('then, by the wheel: longest frame', list.longestFrameMs, wholeMilliseconds, {
            under: frameGapLimitMs,
          }),
          figure('heap of the page', list.heapMib, 'mebibytes'),
        ],
      },
    ],
    notes: [],
  };
}

export async function benchPortal(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  printLine('building the portal …');
  const build = [join(repositoryRoot, 'tools/build-site.ts'), 'portal'];
  await promisify(execFile)(process.execPath, build, { timeout: buildLimitMs });
  printLine('starting the platform and Chromium …');
  const { demo, chromium } = await openDemo(closers, options.keepsFolder);
  const settings = { baseURL: demo.baseUrl, locale: 'en-GB', viewport: view };
  const context = await chromium.newContext(settings);
  await signIn(context, demo);
  const storageState = await context.storageState();
  printLine('opening screens …');
  const coldPaintMs: number[] = [];
  const warmPaintMs: number[] = [];
  for (let opening = 0; opening < openings; opening += 1) {
    const cold = await chromium.newContext({ ...settings, storageState });
    coldPaintMs.push(await paintOf(cold, '/portal/payments'));
    warmPaintMs.push(await paintOf(cold, '/portal/payments'));
    await cold.close();
  }
  printLine('pressing keys …');
  const answersMs = await answers(context);
  printLine(`scrolling through ${options.rows.toLocaleString('en')} rows …`);
  const list = await longList(context, options.rows);
  return report({ entryBytes: await entryBytes(), coldPaintMs, warmPaintMs, answersMs, list });
}
