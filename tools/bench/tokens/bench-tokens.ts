// `bench tokens`: what tokens cost the server, way by way, beside bare Fastify and jose in the same rounds.
import { defined } from '@switchyard/contract';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { mebibytes, microseconds, perSecond } from '../report/report-table.ts';
import { median } from '../sales/find-knee.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { createTokenCases, type TokenCaseName } from './token-cases.ts';
import type { TokenRun } from './token-client.ts';
import { openTokenEnvironment, type TokenEnvironment } from './token-environment.ts';
import type { TokenLoadOrder } from './token-messages.ts';

export type TokenCaseFigures = {
  name: TokenCaseName;
  runs: TokenRun[];
  /** Of the rounds. */
  medianPerCpuSecond: number;
};

export type TokenFigures = {
  parts: TokenCaseFigures[];
  manyRealms?: { realms: number; before: number; after: number; highest: number; errors: string[] };
  profile?: Profile;
};

const warmUpSeconds = 2;
/** What is freed after a run is given back little by little. */
const settleMs = 1000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function describe(name: string, run: TokenRun): string {
  const errors = Object.entries(run.errors).map(([kind, count]) => `${count} × ${kind}`);
  return [
    name.padEnd(30),
    `${perSecond(run.tokensPerCpuSecond)} of CPU`.padEnd(18),
    `server ${microseconds(run.cpuUs.server)}`.padEnd(15),
    `PostgreSQL ${microseconds(run.cpuUs.postgres)}`.padEnd(19),
    `${perSecond(run.tokensPerSecond)} by the clock`,
    ...errors,
  ].join('  ');
}

/** In every realm one token, so that each has its keys and caches in memory. */
async function fillRealms(scene: TokenEnvironment): Promise<TokenFigures['manyRealms']> {
  const { realms, load, memory, target } = scene;
  if (realms.length === 0) return undefined;
  const before = memory.now();
  const work: TokenLoadOrder = {
    name: 'many realms',
    target: target('/'),
    forms: realms.map(({ credentials }) =>
      new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: credentials.clientId,
        client_secret: credentials.clientSecret,
      }).toString(),
    ),
    connections: 16,
    newHandshakes: false,
  };
  const paths = realms.map(({ realm }) => `/oauth2/v1/${realm}/token`);
  const { errors } = await load.once(work, paths);
  await pause(settleMs);
  return {
    realms: realms.length,
    before,
    after: memory.now(),
    highest: memory.highest(),
    errors: Object.entries(errors).map(([kind, count]) => `${count} × ${kind}`),
  };
}

export async function benchTokens(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<TokenFigures> {
  const { seconds, rounds } = options;
  printLine(`making a realm, and ${options.realms.toLocaleString('en')} more …`);
  const scene = await openTokenEnvironment(closers, options);
  const pidsOf = (name: TokenCaseName) => ({
    server: name === 'bare' ? scene.baseline.pid : scene.server.pid,
    postgres: scene.postgresPid,
  });
  const parts = await createTokenCases(scene, options.parts);
  printLine('warming up …');
  for (const { name, work } of parts) await scene.load.run(work, warmUpSeconds, pidsOf(name));
  const figures: TokenCaseFigures[] = parts.map(({ name }) => ({
    name,
    runs: [],
    medianPerCpuSecond: 0,
  }));
  for (let round = 1; round <= rounds; round += 1) {
    printLine(`round ${round} of ${rounds}`);
    for (const [at, { name, work }] of parts.entries()) {
      const run = await scene.load.run(work, seconds, pidsOf(name));
      figures[at]?.runs.push(run);
      printLine(describe(name, run));
    }
  }
  for (const each of figures) {
    each.medianPerCpuSecond = median(each.runs.map((run) => run.tokensPerCpuSecond));
  }
  const manyRealms = await fillRealms(scene);
  if (manyRealms !== undefined)
    printLine(`with every realm in use: ${mebibytes(manyRealms.after)}`);
  const all = { parts: figures, ...defined({ manyRealms }) };
  return options.profile ? { ...all, profile: await profileTokens(scene, parts, seconds) } : all;
}

async function profileTokens(
  scene: TokenEnvironment,
  parts: Awaited<ReturnType<typeof createTokenCases>>,
  seconds: number,
): Promise<Profile> {
  const part = parts.find(({ name }) => name !== 'bare');
  if (part === undefined) throw new Error('there is nothing to profile');
  const pids = { server: scene.server.pid, postgres: scene.postgresPid };
  return profileStep(scene, async () => {
    const run = await scene.load.run(part.work, seconds, pids);
    return { answered: Math.round(run.tokensPerSecond * seconds) };
  });
}
