// The version of this build, for the log, the health, the metrics and `--version`.
import { readFileSync } from 'node:fs';
import { defined } from '@switchyard/contract';

export type BuildVersion = {
  readonly version: string;
  /** The commit of a release; undefined in a clone, whose files can differ from every commit. */
  readonly commit?: string;
};

function readBuildVersion(): BuildVersion {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version, gitHead } = JSON.parse(text) as { version: string; gitHead?: string };
  return { version, ...defined({ commit: gitHead }) };
}

export const buildVersion: BuildVersion = readBuildVersion();
