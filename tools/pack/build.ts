// Compiles what some entry files reach, of whichever packages: JavaScript and declarations for Node 20.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { compiler, quickly, root } from '../test-runner/static-checks.ts';
import type { PackedFile } from './tarball.ts';

/** Of ES2023, which Node 20 has whole: what is newer is told by the compiler, and not by a user's Node. */
const language = 'es2023';
/** Of ES2024 Node 20 has this part: well-formed strings. */
const newer = 'es2024.string';
const compileLimitMs = 120_000;

/** Files from the root of the repository. */
export type Sources = {
  /** Those that users reach. */
  readonly entries: readonly string[];
  /** What our packages import of each other, by its name. */
  readonly doors: Readonly<Record<string, string>>;
};

/** By package, the files that lie in its `dist`. */
export type Built = ReadonlyMap<string, readonly PackedFile[]>;

/** The compiler leaves the names of files in declarations as they were. */
function withoutSourceNames(text: string): string {
  return text.replace(/((?:from|import\()\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2/g, '$1$2$3.js$2');
}

function compile(folder: string, { entries, doors }: Sources): void {
  const configuration = join(folder, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    outDir: join(folder, 'out'),
    rootDir: join(root, 'packages'),
    declaration: true,
    rewriteRelativeImportExtensions: true,
    target: language,
    lib: [language, newer],
    typeRoots: [join(root, 'node_modules/@types')],
    // What is first found below node_modules counts as somebody else's, and is at times left out.
    paths: Object.fromEntries(
      Object.entries(doors).map(([name, file]) => [name, [join(root, file)]]),
    ),
  };
  const text = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions,
    files: entries.map((entry) => join(root, entry)),
    include: [],
  };
  writeFileSync(configuration, JSON.stringify(text));
  const [script, ...args] = compiler;
  const all = [join(root, script), ...args, '-p', configuration];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, {
    encoding: 'utf8',
    timeout: compileLimitMs,
    env: { ...process.env, ...quickly },
  });
  if (status !== 0) throw new Error(`the packages do not compile for Node 20:\n${stdout}${stderr}`);
}

export function build(sources: Sources): Built {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-pack-'));
  try {
    compile(folder, sources);
    const built = new Map<string, PackedFile[]>();
    const out = join(folder, 'out');
    for (const name of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
      const [, packageName, path] = /^([^/]+)\/src\/(.+\.(?:js|d\.ts))$/.exec(
        name.split(sep).join('/'),
      ) ?? [undefined, '', ''];
      if (path === '') continue;
      const text = readFileSync(join(out, name), 'utf8');
      const bytes = Buffer.from(path.endsWith('.d.ts') ? withoutSourceNames(text) : text);
      built.set(packageName, [...(built.get(packageName) ?? []), { path: `dist/${path}`, bytes }]);
    }
    return built;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
