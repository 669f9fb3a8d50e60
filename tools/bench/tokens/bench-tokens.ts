// `bench tokens`: the cost of tokens for the server, by kind, beside Fastify and jose alone in the same rounds.
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import { type BenchOptions, type TokenCaseName, tokenCaseNames } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  clientCredentialsForm,
  fetchToken,
  tokenPath,
} from '../environment/send-single-request.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { mebibytes, microseconds, perSecond } from '../report/report-table.ts';
import { median } from '../sales/find-knee.ts';
import type { PrintLine } from '../sales/measured-step.ts';
import {
  openTokenEnvironment,
  persistentConnections,
  type TokenEnvironment,
} from './token-environment.ts';
import type { Form, TokenLoadOrder, TokenRun } from './token-load.ts';
import { type ManyRealmsFigures, reportTokens, type TokenCaseFigures } from './token-report.ts';

const warmUpSeconds = 2;
/** Memory that a run freed is returned little by little. */
const settleMs = 1000;
const realmConnections = 16;

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
async function fillRealms(environment: TokenEnvironment): Promise<ManyRealmsFigures | undefined> {
  const { realms, load, server } = environment;
  const { memory, target } = server;
  if (realms.length === 0) return undefined;
  const before = memory.now();
  const order = { name: 'many realms', target, path: '/', connections: realmConnections };
  const requests = realms.map(({ realm, credentials }) => ({
    path: tokenPath(realm),
    form: clientCredentialsForm(credentials),
  }));
  const errors = await load.call('requestOnce', { order, requests });
  await pause(settleMs);
  return {
    realms: realms.length,
    before,
    after: memory.now(),
    highest: memory.highest(),
    errors: Object.entries(errors).map(([kind, count]) => `${count} × ${kind}`),
  };
}

function runCase(environment: TokenEnvironment, order: TokenLoadOrder, seconds: number) {
  const { load, server, baselinePid, platform } = environment;
  const pid = order.name === 'baseline' ? baselinePid : server.pid;
  const watched = { server: pid, postgres: platform.postgresPid };
  return load.call('run', { order, seconds, watched });
}

async function profileTokens(
  environment: TokenEnvironment,
  orders: readonly TokenLoadOrder[],
  seconds: number,
): Promise<Profile> {
  const order = orders.find(({ name }) => name !== 'baseline');
  if (order === undefined) throw new Error('there is nothing to profile');
  return profileStep(environment.platform, environment.server.pid, async () => {
    const run = await runCase(environment, order, seconds);
    return { answered: Math.round(run.tokensPerSecond * seconds) };
  });
}

export async function benchTokens(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const { seconds, rounds } = options;
  printLine(`making a realm, and ${options.realms.toLocaleString('en')} more …`);
  const environment = await openTokenEnvironment(closers, options);
  const orders = await createTokenCases(environment, options.tokenParts);
  printLine('warming up …');
  for (const order of orders) await runCase(environment, order, warmUpSeconds);
  const runs = new Map<string, TokenRun[]>(orders.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    printLine(`round ${round} of ${rounds}`);
    for (const order of orders) {
      const run = await runCase(environment, order, seconds);
      runs.get(order.name)?.push(run);
      printLine(describe(order.name, run));
    }
  }
  const parts: TokenCaseFigures[] = [...runs].map(([name, all]) => ({
    name: name as TokenCaseName,
    runs: all,
    medianPerCpuSecond: median(all.map((run) => run.tokensPerCpuSecond)),
  }));
  const manyRealms = await fillRealms(environment);
  if (manyRealms) printLine(`with every realm in use: ${mebibytes(manyRealms.after)}`);
  const profile = options.profile ? await profileTokens(environment, orders, seconds) : undefined;
  return reportTokens({ parts, ...defined({ manyRealms, profile }) });
}

/** More would only wait: the server checks a bounded number of passwords at once. */
const passwordConnections = 8;

const passwordForms = ({ provision }: TokenEnvironment): Form[] =>
  provision.users.map(({ username, password, clientId }) => ({
    grant_type: 'password',
    client_id: clientId,
    username,
    password,
  }));

/** One sign-in for each connection: from then on its refresh tokens follow from each other. */
async function beginChains({ server, provision }: TokenEnvironment, forms: readonly Form[]) {
  const chains: { clientId: string; refreshToken: string }[] = [];
  for (let index = 0; index < persistentConnections; index += 1) {
    const form = forms[index % forms.length] ?? {};
    const { refreshToken } = await fetchToken(server.target, tokenPath(provision.realm), form);
    chains.push({ clientId: form['client_id'] ?? '', refreshToken });
  }
  return chains;
}

/** The baseline first, so that each round begins with it. */
async function createTokenCases(
  environment: TokenEnvironment,
  caseNames: readonly TokenCaseName[],
): Promise<TokenLoadOrder[]> {
  const { server, baselineTarget, deviceTarget, provision, devices } = environment;
  const connections = persistentConnections;
  const realm = { target: server.target, path: tokenPath(provision.realm), connections };
  const mutualTls = { target: deviceTarget, path: '/oauth2-mtls/v1/token', connections, devices };
  const clientForms = provision.applications.map(clientCredentialsForm);
  const forms = passwordForms(environment);
  const isChosen = (name: TokenCaseName) => name === 'baseline' || caseNames.includes(name);
  const orders: Record<TokenCaseName, Omit<TokenLoadOrder, 'name'>> = {
    baseline: { target: baselineTarget, path: '/token', connections, forms: clientForms },
    'client-credentials': { ...realm, forms: clientForms },
    refresh: { ...realm, chains: isChosen('refresh') ? await beginChains(environment, forms) : [] },
    password: { ...realm, forms, connections: passwordConnections },
    mtls: mutualTls,
    'mtls-handshake': { ...mutualTls, newHandshakes: true },
  };
  return tokenCaseNames.filter(isChosen).map((name) => ({ name, ...orders[name] }));
}
