import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';
import { runStaticCheck, staticChecks } from './static-checks.ts';

const clean = `import { double } from './double.ts';\n\nconsole.log(await double(2));\n`;
const double = `export async function double(value: number): Promise<number> {\n  return value * 2;\n}\n`;

/** What each gate is there for: a fault that it alone must catch, and the words that show it did. */
const planted = [
  {
    gate: 'biome',
    says: /noDebugger/,
    text: `import { double } from './double.ts';\n\ndebugger;\nconsole.log(await double(2));\n`,
  },
  {
    gate: 'types',
    says: /TS2322/,
    text: `import { double } from './double.ts';\n\nexport const wrong: string = await double(2);\n`,
  },
  {
    gate: 'promises',
    says: /no-floating-promises/,
    text: `import { double } from './double.ts';\n\ndouble(2);\n`,
  },
  {
    gate: 'promises',
    says: /no-misused-promises/,
    text: `import { double } from './double.ts';\n\nif (double(2)) console.log('always');\n`,
  },
  { gate: 'knip', says: /Unused files/, text: `console.log('double.ts has no reader');\n` },
];

function createRepository(): { folder: string; write(text: string): void; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-gates-'));
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const config of ['biome.json', 'tsconfig.json', '.oxlintrc.json']) {
    cpSync(join(repositoryRoot, config), join(folder, config));
  }
  symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'));
  put('package.json', `${JSON.stringify(repositoryManifest, null, 2)}\n`);
  put('packages/one/package.json', '{\n  "name": "one",\n  "type": "module"\n}\n');
  put('packages/one/src/double.ts', double);
  put('tools/empty.ts', 'export {};\n');
  return {
    folder,
    write: (text) => put('packages/one/src/index.ts', text),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const repositoryManifest = {
  name: 'repository',
  type: 'module',
  workspaces: ['packages/*'],
  knip: {
    workspaces: {
      '.': { entry: ['tools/*.ts'], project: ['tools/*.ts'] },
      'packages/one': { entry: ['src/index.ts'], project: ['src/*.ts'] },
    },
  },
};

let built: ReturnType<typeof createRepository>;
before(() => {
  built = createRepository();
});
after(() => built.remove());

function gateNamed(name: string): (typeof staticChecks)[number] {
  const gate = staticChecks.find((each) => each.name === name);
  assert.ok(gate, `no gate is called ${name}`);
  return gate;
}

test('the static checks pass a repository without faults', async () => {
  built.write(clean);
  for (const name of ['biome', 'types', 'promises', 'knip']) {
    const result = await runStaticCheck(gateNamed(name), built.folder, 2);
    assert.ok(result.ok, `${name}: ${result.output}`);
  }
});

for (const { gate, says, text } of planted) {
  test(`${gate} finds a planted fault: ${says.source}`, async () => {
    built.write(text);
    const result = await runStaticCheck(gateNamed(gate), built.folder, 2);
    assert.equal(result.ok, false);
    assert.match(result.output, says);
  });
}

test('an interface document that breaks a rule of OpenAPI is refused', async () => {
  const gate = gateNamed('interface documents');
  for (const path of gate.targets ?? []) {
    const document = JSON.parse(readFileSync(join(repositoryRoot, path), 'utf8'));
    document.components.schemas.Unused = { type: 'object' };
    mkdirSync(dirname(join(built.folder, path)), { recursive: true });
    writeFileSync(join(built.folder, path), JSON.stringify(document));
  }
  const result = await runStaticCheck(gate, built.folder);
  assert.equal(result.ok, false);
  assert.match(result.output, /no-unused-components[\s\S]*failed with 3 errors/);
});

test('a check that read too few files fails even if its exit code is 0', async () => {
  built.write(clean);
  for (const name of ['biome', 'types', 'promises']) {
    const result = await runStaticCheck(gateNamed(name), built.folder, 1000);
    assert.equal(result.ok, false, name);
    assert.match(result.output, /saw \d+ files, at least 1000 were expected/);
  }
});
