// Reads the rule files of Prometheus in deploy/alerts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from '../repository-root.ts';

export type Rule = {
  readonly expr: string;
  readonly record?: string;
  readonly alert?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};

const alertsFolder = join(repositoryRoot, 'deploy/alerts');

const yamlFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(folder, name));

export const ruleFiles: readonly string[] = yamlFiles(alertsFolder);
export const ruleTestFiles: readonly string[] = yamlFiles(join(alertsFolder, 'tests'));

export const rules: readonly Rule[] = ruleFiles.flatMap((file) => {
  const { groups } = parse(readFileSync(file, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
});
