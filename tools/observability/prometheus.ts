// Prometheus and promtool of the package `prometheus`, for the tests of alerts and dashboards.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { eventually } from '../../packages/server/test/support/wait-for-condition.ts';

const isInstalled = spawnSync('promtool', ['--version']).error === undefined;

/** The `skip` option for tests that need Prometheus. */
export const prometheusSkipReason: string | false =
  isInstalled || process.env['SWITCHYARD_REQUIRE_PROMETHEUS'] === '1'
    ? false
    : 'no Prometheus on this machine: install the package prometheus to run these tests';
if (prometheusSkipReason !== false) console.warn(`\n*** SKIPPED: ${prometheusSkipReason} ***\n`);

/** Runs promtool, and throws if it reports an error. Returns its output. */
export function promtool(args: readonly string[], input?: string): string {
  const { status, error, stdout, stderr } = spawnSync('promtool', args, {
    encoding: 'utf8',
    ...defined({ input }),
  });
  assert.equal(status, 0, `promtool ${args.join(' ')}: ${error ?? `${stdout}${stderr}`}`);
  return stdout;
}

type Sample = { readonly metric: Readonly<Record<string, string>> };
type Rule = { readonly name: string; readonly health: string; readonly lastError?: string };

export type Prometheus = {
  /** The current samples of an expression. */
  query(expression: string): Promise<readonly Sample[]>;
  rules(): Promise<readonly Rule[]>;
  stop(): Promise<void>;
};

/** Starts a server that scrapes one process and evaluates the rules each second. */
export async function startPrometheus(options: {
  readonly directory: string;
  readonly port: number;
  /** As `127.0.0.1:9464`. */
  readonly target: string;
  readonly ruleFiles: readonly string[];
}): Promise<Prometheus> {
  const { directory, port, target, ruleFiles } = options;
  const configFile = join(directory, 'prometheus.json');
  // Every JSON document is a YAML document.
  writeFileSync(
    configFile,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ruleFiles,
      scrape_configs: [{ job_name: 'switchyard', static_configs: [{ targets: [target] }] }],
    }),
  );
  const child = spawn(
    'prometheus',
    [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(directory, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'inherit' },
  );
  await once(child, 'spawn');
  const url = `http://127.0.0.1:${port}`;

  async function call(path: string): Promise<unknown> {
    const answer = await fetch(`${url}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data?: unknown; error?: string };
    assert.equal(error, undefined, `${path}: ${error}`);
    return data;
  }

  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  try {
    await eventually('Prometheus', async () => {
      assert.equal(child.exitCode, null, 'Prometheus did not start');
      return (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok ?? false;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    stop,
    async query(expression) {
      const data = await call(`query?query=${encodeURIComponent(expression)}`);
      return (data as { result: Sample[] }).result;
    },
    async rules() {
      const { groups } = (await call('rules')) as { groups: { rules: Rule[] }[] };
      return groups.flatMap(({ rules }) => rules);
    },
  };
}
