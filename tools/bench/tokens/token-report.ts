// The figures of tokens, and their sections of the report: each beside its target and the baseline.
import type { TokenCaseName } from '../bench-options.ts';
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import {
  errorFigure,
  figure,
  noneFigure,
  perSecond,
  type Section,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import { median } from '../sales/find-knee.ts';
import type { TokenRun } from './token-load.ts';

export type TokenCaseFigures = {
  name: TokenCaseName;
  runs: TokenRun[];
  /** Of the rounds. */
  medianPerCpuSecond: number;
};
export type ManyRealmsFigures = {
  realms: number;
  before: number;
  after: number;
  highest: number;
  errors: string[];
};
export type TokenFigures = {
  parts: TokenCaseFigures[];
  manyRealms?: ManyRealmsFigures;
  profile?: Profile;
};

const titles: Readonly<Record<TokenCaseName, string>> = {
  baseline: 'baseline: Fastify and jose alone',
  'client-credentials': 'client credentials',
  refresh: 'refresh, each rotates',
  password: 'password sign-in, argon2id',
  mtls: 'mutual TLS, kept connections',
  'mtls-handshake': 'mutual TLS, a handshake each',
};

function costs({ name, runs }: TokenCaseFigures): Section {
  const medianOf = (pick: (run: TokenRun) => number) => median(runs.map(pick));
  const rounds = runs.map((run) => perSecond(run.tokensPerCpuSecond)).join(', ');
  return {
    title: `One token by ${titles[name]}`,
    figures: [
      figure(
        'server',
        medianOf((run) => run.cpuUs.server),
        'microseconds',
      ),
      figure(
        'PostgreSQL',
        medianOf((run) => run.cpuUs.postgres),
        'microseconds',
      ),
      figure(
        'tokens by the clock',
        medianOf((run) => run.tokensPerSecond),
        'perSecond',
      ),
      { label: 'rounds, per CPU-second', value: rounds },
      errorFigure('errors', runs),
    ],
  };
}

function memory({ realms, before, after, errors }: ManyRealmsFigures): Section {
  const target = {
    under: targets.manyRealms.residentMib,
    isJudged: realms >= targets.manyRealms.realms,
  };
  return {
    title: `Memory of the server process, ${realms.toLocaleString('en')} realms with a token each`,
    figures: [
      figure('before', before, 'mebibytes'),
      figure('with every realm in use', after, 'mebibytes', target),
      noneFigure('errors', errors.length, errors.join(', ') || 'none'),
    ],
  };
}

export function reportTokens(figures: TokenFigures): BenchResult {
  const { parts, manyRealms, profile } = figures;
  const baseline = parts.find(({ name }) => name === 'baseline')?.medianPerCpuSecond ?? 0;
  const kinds = parts.filter(({ name }) => name !== 'baseline' && baseline > 0);
  const others = parts.flatMap(({ runs }) => runs.map((run) => run.othersShare));
  return {
    figures,
    profile,
    sections: [
      {
        title: 'Tokens per CPU-second of the server',
        figures: parts.map(({ name, medianPerCpuSecond }) => {
          const limit = targets.tokens[name];
          const target = limit === undefined ? undefined : { atLeast: limit };
          return figure(titles[name], medianPerCpuSecond, 'perSecond', target);
        }),
      },
      {
        title: 'The same relative to the baseline',
        figures: kinds.map(({ name, medianPerCpuSecond }) => ({
          label: titles[name],
          value: (medianPerCpuSecond / baseline).toFixed(3),
        })),
      },
      ...parts.map(costs),
      ...(manyRealms ? [memory(manyRealms)] : []),
    ],
    othersShare: Math.max(0, ...others),
    notes: [
      'CPU of the server’s process, all of its threads, over TLS on loopback; the medians of the rounds',
    ],
  };
}
