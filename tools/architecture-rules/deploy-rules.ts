// Rules for the container images and scripts of `deploy`.
import type { Fault, TextFile } from './source-files.ts';

type Rule = { readonly text: string; isMet(lines: readonly string[]): boolean };

/** The first element of the exec form; a string would start a shell, which does not pass signals on. */
function startedProgram(line: string): string {
  const [, list = '[]'] = /^ENTRYPOINT (\[.*\])$/.exec(line) ?? [];
  return (JSON.parse(list) as string[])[0] ?? '';
}

const imageRules: readonly Rule[] = [
  {
    text: 'the base image is an argument: FROM $BASE_IMAGE',
    isMet: (lines) => lines.includes('FROM $BASE_IMAGE'),
  },
  {
    text: 'a RUN needs a shell, which the base image may not have',
    isMet: (lines) => !lines.some((line) => line.startsWith('RUN ')),
  },
  {
    text: 'USER is the number of a user other than root: engines compare the number',
    isMet: (lines) => {
      const user = lines.findLast((line) => line.startsWith('USER ')) ?? '';
      return /^USER [1-9]\d*:[1-9]\d*$/.test(user);
    },
  },
  {
    text: 'ENTRYPOINT is a list that begins with node',
    isMet: (lines) => lines.some((line) => startedProgram(line).endsWith('/node')),
  },
  {
    text: 'HEALTHCHECK is missing',
    isMet: (lines) => lines.some((line) => line.startsWith('HEALTHCHECK ')),
  },
];

const scriptRules: readonly Rule[] = [
  {
    text: 'a script ends at the first error: set -eu',
    isMet: (lines) => lines.includes('set -eu'),
  },
];

export function deployFaults(files: readonly TextFile[]): Fault[] {
  return files
    .filter(({ path }) => path.startsWith('deploy/'))
    .flatMap(({ path, text }) => {
      const rules = path.endsWith('Containerfile')
        ? imageRules
        : path.endsWith('.sh')
          ? scriptRules
          : [];
      const lines = text.split('\n');
      return rules
        .filter(({ isMet }) => !isMet(lines))
        .map((rule) => ({ path, line: 1, rule: 'deploy', text: rule.text }));
    });
}
