// Writes the support bundle: facts for the search for a fault, without secrets and card data.
import { open, writeFile } from 'node:fs/promises';
import { arch, platform, release } from 'node:os';
import {
  buildVersion,
  type EnvironmentVariables,
  isoTime,
  redactedPlaceholder,
  redactLogLine,
  redactText,
  type Setting,
  type Settings,
  settingsTable,
  variableName,
  variableNames,
} from '../../../packages/server/src/platform/index.ts';
import type { Finding } from './check.ts';
import type { PlatformNode } from './database-checks.ts';
import { fetchMonitoring } from './network-checks.ts';

/** The last lines of a log are in its last bytes, so a large file is not read completely. */
const maxLogBytes = 4 * 1024 * 1024;
const maxLogLines = 2_000;

export type BundleParts = {
  readonly env: EnvironmentVariables;
  readonly settings: Settings | undefined;
  readonly findings: readonly Finding[];
  readonly nodes: readonly PlatformNode[];
  readonly logFile: string | undefined;
  readonly now: number;
};

/** The variables that are set; of a secret only that it is set. */
function listSettings(env: EnvironmentVariables): Record<string, string> {
  const entries = Object.values<Setting<unknown>>(settingsTable).flatMap((setting) =>
    variableNames(setting).flatMap((name) => {
      const value = env[name];
      if (value === undefined) return [];
      const isSecret = setting.secret === true && name === variableName(setting);
      return [[name, isSecret ? redactedPlaceholder : redactText(value)]];
    }),
  );
  return Object.fromEntries(entries);
}

/** Only the JSON lines: the demo also prints its passwords, as text. */
async function readLastLines(path: string): Promise<string[]> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - maxLogBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), { position: start });
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    // The first line is incomplete, and its redaction could miss a part of a card number.
    const complete = start === 0 ? lines : lines.slice(1);
    const logLines = complete.filter((line) => line.startsWith('{')).slice(-maxLogLines);
    return logLines.map((line) => redactLogLine(line).trimEnd());
  } finally {
    await file.close();
  }
}

/** @throws Error if the file exists, or the log file cannot be read */
export async function writeSupportBundle(file: string, parts: BundleParts): Promise<void> {
  const { env, settings, findings, nodes, logFile, now } = parts;
  const metrics = settings && (await fetchMonitoring(settings, '/metrics'));
  const bundle = {
    createdAt: isoTime(now),
    versions: {
      ...buildVersion,
      node: process.versions.node,
      system: `${platform()} ${release()} ${arch()}`,
    },
    processes: nodes,
    settings: listSettings(env),
    findings: findings.map((one) => ({ ...one, finding: redactText(one.finding) })),
    log: logFile === undefined ? [] : await readLastLines(logFile),
    metrics: metrics?.split('\n').map(redactText) ?? [],
  };
  await writeFile(file, `${JSON.stringify(bundle, undefined, 2)}\n`, { flag: 'wx', mode: 0o600 });
}
