// Compiles a package for Node 20: one file of JavaScript for `require`, one for `import`, and declarations.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';
import { compilerCommand, compilerEnvironment } from '../test-runner/static-checks.ts';
import { bundle, inlinedPackage } from './bundle.ts';
import { type DeclarationSources, selectDeclarations } from './declarations.ts';
import type { PackedFile } from './tarball.ts';

/** Node 20 has all of ES2023: the compiler refuses what is newer. */
const languageVersion = 'es2023';
/** Node 20 has this part of ES2024: well-formed strings. */
const additionalLibrary = 'es2024.string';
const compileLimitMs = 120_000;
const scope = '@switchyard/';

export type Source = {
  readonly name: string;
  /** From the root of the repository. */
  readonly entry: string;
  /** A command is run, and a library is imported. */
  readonly isCommand: boolean;
  /** Packages that stay imports. */
  readonly external: readonly string[];
};

export type BuiltPackage = {
  readonly files: readonly PackedFile[];
  /** Packages of others that it loads. */
  readonly imports: readonly string[];
  readonly containsInlinedPackage: boolean;
};

function writeDeclarations(folder: string, sources: readonly Source[]): void {
  const configuration = join(folder, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    outDir: folder,
    rootDir: join(repositoryRoot, 'packages'),
    declaration: true,
    emitDeclarationOnly: true,
    target: languageVersion,
    lib: [languageVersion, additionalLibrary],
    typeRoots: [join(repositoryRoot, 'node_modules/@types')],
    // The compiler writes no declarations of files that it first finds below node_modules.
    paths: Object.fromEntries(
      sources.map(({ name, entry }) => [name, [join(repositoryRoot, entry)]]),
    ),
  };
  const files = sources.map(({ entry }) => join(repositoryRoot, entry));
  const text = {
    extends: join(repositoryRoot, 'tsconfig.json'),
    compilerOptions,
    files,
    include: [],
  };
  writeFileSync(configuration, JSON.stringify(text));
  const [script, ...args] = compilerCommand;
  const all = [join(repositoryRoot, script), ...args, '-p', configuration];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, {
    encoding: 'utf8',
    timeout: compileLimitMs,
    env: { ...process.env, ...compilerEnvironment },
  });
  if (status !== 0) throw new Error(`the packages do not compile for Node 20:\n${stdout}${stderr}`);
}

type PackageDeclarations = DeclarationSources & { readonly findEntry: (name: string) => string };

/** The compiler's output, beside the declarations of TypeBox. */
function createDeclarationSources(folder: string, sources: readonly Source[]): PackageDeclarations {
  const inlinedTypesFolder = join(repositoryRoot, 'node_modules', inlinedPackage, 'build');

  function findEntry(name: string): string {
    const source = sources.find((each) => each.name === name);
    if (source === undefined) throw new Error(`${name} is not compiled`);
    return join(folder, relative('packages', source.entry).replace(/\.ts$/, '.d.ts'));
  }

  return {
    findEntry,
    resolve(specifier, from) {
      if (isBuiltin(specifier)) return undefined;
      if (specifier.startsWith(scope)) return findEntry(specifier);
      if (specifier === inlinedPackage) return join(inlinedTypesFolder, 'index.d.mts');
      const file = join(dirname(from), specifier).replace(/\.(m?)[jt]s$/, '.d.$1ts');
      if (specifier.startsWith('.') && existsSync(file)) return file;
      throw new Error(`${from}: the public interface needs ${specifier}, which is not packed`);
    },
    packagePath(file) {
      const path = file.startsWith(inlinedTypesFolder)
        ? join(inlinedPackage, relative(inlinedTypesFolder, file))
        : relative(folder, file).replace(`${sep}src${sep}`, sep);
      return `dist/types/${path
        .split(sep)
        .join('/')
        .replace(/\.d\.m?ts$/, '')}`;
    },
    // Without the rest of a file, the compiler reports "Excessive stack depth" in types of TypeBox.
    includesWholeFile: (file) => file.startsWith(inlinedTypesFolder),
  };
}

const textFile = (path: string, text: string): PackedFile => ({ path, bytes: Buffer.from(text) });

/**
 * `import` gets the names of the file that `require` loads. So a program that uses both has each class once, and
 * `instanceof` holds.
 */
async function buildLibrary(
  { name, entry, external }: Source,
  declarations: PackageDeclarations,
): Promise<BuiltPackage> {
  const { text, exports, imports, containsInlinedPackage } = await bundle(entry, 'cjs', external);
  const types = selectDeclarations(declarations.findEntry(name), declarations);
  const entryTypes = declarations.packagePath(declarations.findEntry(name)).replace(/^dist/, '.');
  return {
    files: [
      textFile('dist/index.js', text),
      textFile('dist/index.mjs', `export {\n  ${exports.join(',\n  ')},\n} from './index.js';\n`),
      textFile('dist/index.d.ts', `export * from '${entryTypes}.js';\n`),
      textFile('dist/index.d.mts', "export * from './index.js';\n"),
      ...types,
    ],
    imports,
    containsInlinedPackage:
      containsInlinedPackage || types.some(({ path }) => path.includes(`/${inlinedPackage}/`)),
  };
}

async function buildCommand({ entry, external }: Source): Promise<BuiltPackage> {
  const { text, ...rest } = await bundle(entry, 'esm', external);
  return { files: [textFile('dist/main.js', text)], ...rest };
}

/** @param sources the packages, and those of ours that they import */
export async function buildPackages(
  names: readonly string[],
  sources: readonly Source[],
): Promise<ReadonlyMap<string, BuiltPackage>> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-pack-'));
  try {
    writeDeclarations(folder, sources);
    const declarations = createDeclarationSources(folder, sources);
    const built = new Map<string, BuiltPackage>();
    for (const source of sources) {
      if (!names.includes(source.name)) continue;
      const { isCommand, name } = source;
      built.set(
        name,
        await (isCommand ? buildCommand(source) : buildLibrary(source, declarations)),
      );
    }
    return built;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
