// Bundles the JavaScript of a package into one file, with what it imports of our other packages.
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { repositoryRoot } from '../repository-root.ts';

/** `require` in Node before 20.19 loads no ES modules, and TypeBox has no other form: it is compiled in. */
export const inlinedPackage = 'typebox';

export type Bundle = {
  readonly text: string;
  readonly exports: readonly string[];
  /** Packages of others that it imports, Node's own modules not counted. */
  readonly imports: readonly string[];
  readonly containsInlinedPackage: boolean;
};

/**
 * @param entry a file of TypeScript, from the root of the repository
 * @param external packages that stay imports
 */
export async function bundle(
  entry: string,
  format: 'cjs' | 'esm',
  external: readonly string[],
): Promise<Bundle> {
  const build = await rolldown({
    cwd: repositoryRoot,
    input: join(repositoryRoot, entry),
    platform: 'node',
    transform: { target: 'node20' },
    external: [...external],
    onLog: (_level, log) => {
      throw new Error(`${entry}: ${log.message}`);
    },
  });
  try {
    const { output } = await build.generate({ format, codeSplitting: false, strict: true });
    const [{ code, exports, imports, dynamicImports, moduleIds }] = output;
    return {
      text: code,
      exports,
      imports: [...imports, ...dynamicImports].filter((name) => external.includes(name)),
      containsInlinedPackage: moduleIds.some((id) =>
        id.includes(`/node_modules/${inlinedPackage}/`),
      ),
    };
  } finally {
    await build.close();
  }
}
