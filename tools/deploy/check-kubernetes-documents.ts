// Compiles Kubernetes objects against the types of the Kubernetes OpenAPI document: unknown and missing members, and wrong types.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';
import { compilerCommand } from '../test-runner/static-checks.ts';

export type KubernetesDocument = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
};

export type DocumentSource = {
  readonly file: string;
  readonly isPatch: boolean;
  readonly document: KubernetesDocument;
};

const types = join(import.meta.dirname, 'kubernetes-documents.ts');

/** Returns the errors of the compiler, each with the file of its object. */
export function checkKubernetesDocuments(sources: readonly DocumentSource[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-kubernetes-'));
  try {
    const statements = sources.map(({ document, isPatch }, index) => {
      const type = `KubernetesDocuments['${document.kind}']`;
      return `export const d${index}: ${isPatch ? `Patch<${type}>` : type} = ${JSON.stringify(document)};`;
    });
    const imports = `import type { KubernetesDocuments, Patch } from ${JSON.stringify(types)};`;
    writeFileSync(join(folder, 'documents.ts'), [imports, ...statements].join('\n'));
    const compilerOptions = {
      target: 'es2024',
      module: 'nodenext',
      types: [],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['documents.ts'] }),
    );
    const [script, ...options] = compilerCommand;
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [join(repositoryRoot, script), ...options, '--pretty', 'false', '-p', folder],
      { encoding: 'utf8' },
    );
    if (status === 0) return [];
    // The first line of the file has the imports.
    return `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, number, error = line] = /documents\.ts\((\d+),\d+\): (.*)/.exec(line) ?? [];
        return `${sources[Number(number) - 2]?.file ?? folder}: ${error}`;
      });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
