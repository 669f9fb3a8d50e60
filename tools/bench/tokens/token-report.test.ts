import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatReport } from '../report/report.ts';
import type { TokenRun } from './token-load.ts';
import { reportTokens } from './token-report.ts';

const machine = {
  cpu: 'A',
  cores: 2,
  memoryGib: 4,
  system: 'Linux',
  node: 'v24',
  loadBefore: 0,
};

const run = (tokensPerCpuSecond: number, errors: Record<string, number> = {}): TokenRun => ({
  tokensPerCpuSecond,
  tokensPerSecond: 900,
  cpuUs: { server: 1_000_000 / tokensPerCpuSecond, postgres: 10, load: 90 },
  errors,
  othersShare: 0.01,
});

test('token figures are listed with their targets and the baseline', () => {
  const result = reportTokens({
    parts: [
      { name: 'baseline', runs: [run(8000)], medianPerCpuSecond: 8000 },
      { name: 'client-credentials', runs: [run(3000), run(2900)], medianPerCpuSecond: 3000 },
      { name: 'refresh', runs: [run(900, { '400 invalid_grant': 2 })], medianPerCpuSecond: 900 },
      { name: 'mtls', runs: [run(1500)], medianPerCpuSecond: 1500 },
    ],
    manyRealms: { realms: 2000, before: 200, after: 350, highest: 350, errors: [] },
  });
  const text = formatReport(result, 7, machine);
  assert.match(text, /client credentials +3,000\/s +at least 2,500\/s +✓/);
  assert.match(text, /refresh, each rotates +900\/s +at least 1,000\/s +✗ missed/);
  assert.match(text, /mutual TLS, kept connections +1,500\/s\n/);
  assert.match(text, /client credentials +0\.375/);
  assert.match(text, /2 × 400 invalid_grant +none +✗ missed/);
  assert.match(text, /with every realm in use +350 MiB +under 400 MiB +✓/);
  assert.doesNotMatch(text, /NOT A QUIET MACHINE/);
});

test('fewer realms than the target are no result', () => {
  const manyRealms = { realms: 20, before: 200, after: 210, highest: 210, errors: [] };
  const text = formatReport(reportTokens({ parts: [], manyRealms }), 7, {
    ...machine,
    loadBefore: 3,
  });
  assert.match(text, /with every realm in use +210 MiB +under 400 MiB\n/);
  assert.match(text, /NOT A QUIET MACHINE/);
});
