// Turns the figures of tokens into the table that people read: each beside its target and the bare line.
import { defined } from '@switchyard/contract';
import type { MachineDescription } from '../environment/machine.ts';
import {
  type Figure,
  layOutTable,
  mebibytes,
  microseconds,
  perSecond,
  type Section,
} from '../report/report-table.ts';
import { machineLines, profileSections } from '../report/sales-report.ts';
import { median } from '../sales/find-knee.ts';
import type { TokenCaseFigures, TokenFigures } from './bench-tokens.ts';
import { type TokenCaseName, tokenTargets } from './token-cases.ts';

/** MiB of the whole process, with as many realms in use. */
export const manyRealmsTarget = { realms: 2000, residentMib: 400 } as const;

const titles: Readonly<Record<TokenCaseName, string>> = {
  bare: 'bare Fastify and jose',
  'client-credentials': 'client credentials',
  refresh: 'refresh, each rotates',
  password: 'password sign-in, argon2id',
  mtls: 'mutual TLS, kept connections',
  'mtls-handshake': 'mutual TLS, a handshake each',
};

function errorsOf({ runs }: TokenCaseFigures): string {
  const kinds = runs.flatMap(({ errors }) =>
    Object.entries(errors).map(([kind, count]) => `${count} × ${kind}`),
  );
  return kinds.join(', ') || 'none';
}

function speed(parts: readonly TokenCaseFigures[]): Section {
  const figures = parts.map(({ name, medianPerCpuSecond: value }): Figure => {
    const target = tokenTargets[name];
    return {
      name: titles[name],
      value: perSecond(value),
      ...defined({
        target: target === undefined ? undefined : `at least ${perSecond(target)}`,
        reached: target === undefined ? undefined : value >= target,
      }),
    };
  });
  return { title: 'Tokens per CPU-second of the server', figures };
}

function ratios(parts: readonly TokenCaseFigures[]): Section {
  const baseline = parts.find(({ name }) => name === 'bare')?.medianPerCpuSecond ?? 0;
  const figures = parts
    .filter(({ name }) => name !== 'bare' && baseline > 0)
    .map(({ name, medianPerCpuSecond }) => ({
      name: titles[name],
      value: (medianPerCpuSecond / baseline).toFixed(3),
    }));
  return { title: 'The same over the bare line', figures };
}

function costs(parts: readonly TokenCaseFigures[]): Section[] {
  return parts.map((part) => {
    const medianOf = (pick: (run: TokenCaseFigures['runs'][number]) => number) =>
      median(part.runs.map(pick));
    const errors = errorsOf(part);
    return {
      title: `One token by ${titles[part.name]}`,
      figures: [
        { name: 'server', value: microseconds(medianOf((run) => run.cpuUs.server)) },
        { name: 'PostgreSQL', value: microseconds(medianOf((run) => run.cpuUs.postgres)) },
        { name: 'tokens by the clock', value: perSecond(medianOf((run) => run.tokensPerSecond)) },
        {
          name: 'rounds, per CPU-second',
          value: part.runs.map((run) => perSecond(run.tokensPerCpuSecond)).join(', '),
        },
        { name: 'errors', value: errors, target: 'none', reached: errors === 'none' },
      ],
    };
  });
}

function memory({ manyRealms }: TokenFigures): Section {
  if (manyRealms === undefined) return { title: 'Memory', figures: [] };
  const { realms, before, after, errors } = manyRealms;
  const counts = realms >= manyRealmsTarget.realms;
  return {
    title: `Memory of the server process, ${realms.toLocaleString('en')} realms with a token each`,
    figures: [
      { name: 'before', value: mebibytes(before) },
      {
        name: 'with every realm in use',
        value: mebibytes(after),
        target: `under ${manyRealmsTarget.residentMib} MiB`,
        ...(counts ? { reached: after < manyRealmsTarget.residentMib } : {}),
      },
      {
        name: 'errors',
        value: errors.join(', ') || 'none',
        target: 'none',
        reached: errors.length === 0,
      },
    ],
  };
}

const means =
  'CPU of the server’s process, all of its threads, over TLS on loopback; the medians of the rounds';

export function writeTokensReport(figures: TokenFigures, machine: MachineDescription): string {
  const { parts, profile } = figures;
  const sections = [speed(parts), ratios(parts), ...costs(parts), memory(figures)];
  const others = Math.max(0, ...parts.flatMap(({ runs }) => runs.map((run) => run.othersShare)));
  const notes = [...machineLines(machine, others), means].map((line) => `  ${line}\n`).join('');
  return [layOutTable(sections), ...profileSections(profile), notes].join('\n');
}
