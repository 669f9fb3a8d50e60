import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { errorCodes, isErrorCode, listErrorCodes } from '@switchyard/contract';
import { repositoryRoot } from '../repository-root.ts';
import { deployFaults } from './deploy-rules.ts';
import * as documents from './document-rules.ts';
import { exportFaults, publishedPackages } from './exported-doc-comment-rules.ts';
import { idiomFaults } from './idiom-rules.ts';
import { importCycles } from './import-cycles.ts';
import {
  findCycle,
  importFaults,
  moduleTable,
  packageTable,
  pureModuleFaults,
  siblingImportFaults,
} from './import-rules.ts';
import { longestSources } from './size-report.ts';
import { type Fault, isSource, isTest, parseSource, readTexts } from './source-files.ts';
import {
  countVagueWords,
  limitsFile,
  lowerLimits,
  type VagueWordCounts,
  vagueWordFaults,
} from './vague-words.ts';
import { machinePathFaults, wordFaults } from './word-rules.ts';

const texts = readTexts(repositoryRoot);
const sources = texts.filter(isSource).map(parseSource);
const exists = (path: string): boolean => existsSync(join(repositoryRoot, path));

const reservedCodes = listErrorCodes().filter((code) => 'reserved' in errorCodes[code]);

const statusOf = (code: string): number | undefined =>
  isErrorCode(code) ? errorCodes[code].status : undefined;

function assertNone(faults: Fault[]): void {
  const lines = faults.map(({ path, line, rule, text }) => `${path}:${line}  ${rule}: ${text}`);
  if (lines.length > 0) assert.fail(`\n${lines.join('\n')}\n`);
}

function textOf(path: string): { path: string; text: string } {
  const file = texts.find((each) => each.path === path);
  assert.ok(file, `${path} is missing`);
  return file;
}

describe('the architecture rules', () => {
  test('the rules read the whole repository', () => {
    assert.ok(sources.length > 80, `${sources.length} source files`);
    assert.ok(sources.flatMap(({ imports }) => imports).length > 200);
    const hasSource = (part: string): boolean => sources.some(({ path }) => path.startsWith(part));
    for (const name of ['packages/server/src/payments/', 'packages/contract/', 'tools/']) {
      assert.ok(hasSource(name), `no file under ${name}`);
    }
  });

  test('no folder has more vague words than its limit, which only goes down', () => {
    const limits = JSON.parse(textOf(limitsFile).text) as VagueWordCounts;
    assertNone(
      vagueWordFaults(
        limits,
        countVagueWords([...sources, ...texts.filter((each) => !isSource(each))]),
      ),
    );
  });

  test('packages and modules import as the tables allow', () => {
    assert.equal(findCycle(packageTable), undefined);
    assert.equal(findCycle(moduleTable), undefined);
    assertNone(sources.flatMap(importFaults));
    assertNone(pureModuleFaults(sources));
    assertNone(siblingImportFaults(sources));
  });

  test('no files import each other in a cycle, type-only imports included', () => {
    assert.deepEqual(importCycles(sources), []);
  });

  test('the longest files and functions are reported', (t) => {
    const report = longestSources(sources);
    for (const { path, line, lines } of [...report.files, ...report.functions]) {
      t.diagnostic(`${lines} lines: ${path}:${line}`);
    }
    assert.ok((report.files[0]?.lines ?? 0) > (report.functions[0]?.lines ?? 0));
  });

  test('no literal is spread, and no undefined member is left out by hand', () => {
    assertNone(sources.flatMap(idiomFaults));
  });

  test('the source contains no hidden clock, card number, vague name or unfinished code', () => {
    assertNone(sources.flatMap(wordFaults));
  });

  test('each export of a published package has a doc comment', () => {
    assertNone(exportFaults(sources));
  });

  test('container images and scripts of deploy have what each of them needs', () => {
    assert.ok(textOf('deploy/Containerfile').text.includes('HEALTHCHECK'));
    assertNone(deployFaults(texts));
  });

  test('no file names a folder of this machine', () => {
    assertNone(machinePathFaults(texts, [repositoryRoot, dirname(repositoryRoot), homedir()]));
  });
});

describe('the documents are consistent with the code', () => {
  test('links lead to files and headings', () => {
    assert.ok(textOf('README.md').text.includes(']('));
    assertNone(documents.linkFaults(texts, exists));
  });

  test('the tour names files that exist', () => {
    const tour = textOf('docs/explanation/code-tour.md');
    assert.ok(documents.namedFiles(tour.text).length > 15);
    assertNone(documents.tourFaults(tour, exists));
  });

  test('the files that implement a line of the specification exist', () => {
    const coverage = textOf('docs/spec-coverage.md');
    assert.ok(documents.coverageRows(coverage.text).length >= 800);
    assertNone(documents.missingPathFaults(coverage, exists));
  });

  test('each rule for card data is proved by a test', () => {
    const tests = texts.filter(({ path }) => isTest(path));
    assertNone(documents.cardRuleFaults(textOf('docs/reference/card-data-rules.md'), tests));
  });

  test('each HTTP status in the documents matches the error code next to it', () => {
    assertNone(documents.statusFaults(texts, statusOf));
  });

  // Spec: LIST-11
  test('each error code is used by a module or reserved, and never both', () => {
    const modules = texts.filter(
      ({ path }) => path.startsWith('packages/server/src/') && isSource({ path, text: '' }),
    );
    const schemas = texts.filter(({ path }) => path.startsWith('packages/contract/src/schemas/'));
    const answering = [...modules, ...schemas].filter(({ path }) => !isTest(path));
    assert.deepEqual(documents.unansweredCodes(listErrorCodes(), answering), reservedCodes);
  });

  test('decision records are complete, listed, and exist if a source names them', () => {
    assertNone(documents.decisionFaults(texts));
  });

  test('migrations are numbered without a gap', () => {
    const migrations = texts.filter(({ path }) => /\/migrations\/[^/]+\.sql$/.test(path));
    assert.ok(migrations.length > 0);
    assertNone(documents.migrationFaults(migrations));
  });
});

const server = 'packages/server/src';
const purpose = '// Says what this planted file is for, at length.\n';
const cardNumber = '4111111111111111';
const otherNumber = '4012888888881881';

/** Each rule with a file that breaks it and words of the complaint. */
const planted: [path: string, text: string, says: RegExp][] = [
  ['packages/money/src/a.ts', `import '@switchyard/contract';`, /money must not import/],
  ['packages/iso8583/src/a.ts', `import '../../money/src/index.ts';`, /leaves the package/],
  ['packages/money/src/a.ts', `export * from '@switchyard/emv';`, /money must not import/],
  ['packages/sdk-pos/src/a.ts', `import '@switchyard/server';`, /sdk-pos must not import/],
  ['packages/server/src/demo/a.ts', `import '@switchyard/money/src/iso.ts';`, /inside the package/],
  ['packages/weather/src/a.ts', `import '@switchyard/money';`, /new package/],
  [
    `${server}/platform/a.ts`,
    `import '../payments/index.ts';`,
    /platform must not import payments/,
  ],
  [`${server}/platform/a.ts`, `import '@switchyard/emv';`, /platform must not import/],
  [`${server}/http/a.ts`, `await import('../vault/index.ts');`, /http must not import vault/],
  [
    `${server}/vault/a.ts`,
    `import type { A } from '../payments/index.ts';`,
    /vault must not import/,
  ],
  [`${server}/payments/a.ts`, `import '../vault/keys.ts';`, /entered by its index\.ts/],
  [
    `${server}/payments/a.ts`,
    `import '../application.ts';`,
    /payments must not import application/,
  ],
  [`${server}/application.ts`, `import './payments/store.ts';`, /entered by its index\.ts/],
  [`${server}/weather/a.ts`, `import '../vault/index.ts';`, /new module/],
  [`${server}/vault/keys/a.ts`, `import '../index.ts';`, /is above this file/],
  [`${server}/vault/keys/a.ts`, `import type { B } from './index.ts';`, /is above this file/],
  [`${server}/vault/routes.ts`, `import './store.ts';`, /routes never import SQL/],
  [`${server}/vault/key-route.ts`, `import './key-store.ts';`, /routes never import SQL/],
  [`${server}/payments/http/sale-route.ts`, `import '../sale/a-sql.ts';`, /never import SQL/],
  [
    `${server}/payments/transaction/a.ts`,
    `import type { B } from '../repository/b.ts';`,
    /transaction must not import repository/,
  ],
  [
    `${server}/payments/offline/a.ts`,
    `import '../recovery/b.ts';`,
    /offline must not import recovery/,
  ],
  [`${server}/payments/sale/a.ts`, `import '../deps.ts';`, /sale must not import \.\.\/deps/],
  [`${server}/payments/weather/a.ts`, `import '../sale/b.ts';`, /weather is a new folder/],
  [`${server}/acquiring/spi/a.ts`, `import '../links/b.ts';`, /spi must not import links/],
  [`${server}/vault/state.ts`, `import 'node:fs';`, /pure file must not import node:fs/],
  [`${server}/vault/rules.ts`, `import pg from 'pg';`, /pure file must not import pg/],
  [`${server}/vault/rules.ts`, `import { now } from '../platform/index.ts';`, /pure file/],
  ['tools/a.ts', 'const a = { ...{ b, c }, d };', /a literal is spread/],
  ['tools/a.ts', 'const a = [...[b, c], d];', /a literal is spread/],
  ['tools/a.ts', 'call(...[b, c]);', /a literal is spread/],
  ['tools/a.ts', 'const a = { ...(b === undefined ? {} : { b }) };', /use defined/],
  ['tools/a.ts', 'const a = { ...(b !== undefined ? { b } : {}) };', /use defined/],
  ['tools/request-utils.ts', '', /says nothing/],
  ['tools/myFile.ts', '', /not kebab-case/],
  [`${server}/vault/a.ts`, 'export {};', /opens without a sentence/],
  [`${server}/vault/a.ts`, `${purpose}const a = process.env['HOME'];`, /process\.env: ask/],
  [`${server}/vault/a.ts`, `${purpose}const a = Date.now();`, /Date\.now: ask/],
  [`${server}/vault/a.ts`, `${purpose}const a = new Date();`, /new Date\(\): ask/],
  ['packages/money/src/a.ts', 'const a = Math.random();', /Math\.random: ask/],
  [`${server}/vault/a.ts`, `${purpose}const a = '${cardNumber}';`, /read as a card number/],
  ['packages/emv/src/a.ts', `const a = '${otherNumber}';`, /read as a card number/],
  ['packages/money/src/a.ts', 'class Purse {}', /classes are for errors only/],
  ['tools/a.ts', `// ${'TO'}${'DO'}: later`, /unfinished/],
  ['tools/a.ts', `test.${'only'}('one', () => {});`, /does not run/],
];

describe('the rules find planted faults', () => {
  for (const [path, text, says] of planted) {
    test(`${path}: ${says.source}`, () => {
      const file = parseSource({ path, text });
      const faults = [...importFaults(file), ...idiomFaults(file), ...wordFaults(file)];
      assert.ok(
        faults.some((fault) => says.test(fault.text)),
        `not caught; found: ${faults.map((fault) => fault.text).join('; ')}`,
      );
    });
  }

  test('allowed code is not reported', () => {
    const file = parseSource({
      path: `${server}/payments/a.ts`,
      text: `${purpose}import { b } from '../vault/index.ts';\nimport type { C } from './c.ts';\nconst d = new Date(b);\nexport class E extends Error {}\n`,
    });
    assertNone([...importFaults(file), ...idiomFaults(file), ...wordFaults(file)]);
  });

  test('the longest function is counted without the named functions inside it', () => {
    const inner = `  async function inner() {\n${'    call();\n'.repeat(50)}  }\n`;
    const text = `export function outer() {\n${inner.repeat(3)}}\n`;
    const { functions } = longestSources([parseSource({ path: 'tools/a.ts', text })]);
    assert.deepEqual(
      functions.map(({ line, lines }) => [line, lines]),
      [
        [2, 52],
        [54, 52],
        [106, 52],
        [1, 5],
      ],
    );
  });

  test('an indirect import of a pure file is found, and its type imports are ignored', () => {
    const moduleOf = (...files: [name: string, text: string][]) =>
      files.map(([name, text]) => parseSource({ path: `${server}/payments/${name}`, text }));
    const rules = `import { a } from './a.ts';`;
    const textsOf = (files: ReturnType<typeof moduleOf>) =>
      pureModuleFaults(files).map(({ text }) => text);
    const far = moduleOf(
      ['rules.ts', rules],
      ['a.ts', `import './b.ts';`],
      ['b.ts', `import 'pg';`],
    );
    assert.deepEqual(textsOf(far), ['a pure file must not load pg, as b.ts does']);
    const other = moduleOf(['rules.ts', rules], ['a.ts', `import { h } from '../vault/index.ts';`]);
    assert.match(textsOf(other).join(), /must not load \.\.\/vault\/index\.ts, as a\.ts does/);
    const typed = `import type { H } from '../vault/index.ts';`;
    assert.deepEqual(textsOf(moduleOf(['rules.ts', rules], ['a.ts', typed])), []);
  });

  test('a cycle of imports is found, type-only imports included', () => {
    const parse = ([path, text]: [path: string, text: string]) => parseSource({ path, text });
    const planted = [
      ['tools/a.ts', `import type { B } from './b.ts';`],
      ['tools/b.ts', `export * from './c.ts';`],
      ['tools/c.ts', `import { a } from './a.ts';\nimport './d.ts';`],
      ['tools/d.ts', ''],
      ['tools/e.test.ts', `import './a.ts';`],
    ] satisfies [string, string][];
    assert.deepEqual(importCycles(planted.map(parse)), [
      ['tools/a.ts', 'tools/b.ts', 'tools/c.ts'],
    ]);
  });

  test('an import of the index.ts of a sub-folder that depends on the importing one is found', () => {
    const parse = ([name, text]: [name: string, text: string]) =>
      parseSource({ path: `${server}/vault/${name}`, text });
    const planted = [
      ['keys/a.ts', `import type { B } from '../opening/index.ts';`],
      ['opening/index.ts', `export * from '../c.ts';`],
      ['c.ts', `import type { D } from './keys/d.ts';`],
      ['keys/d.ts', ''],
      ['rounds/e.ts', `import '../opening/index.ts';`],
    ] satisfies [string, string][];
    assert.deepEqual(
      siblingImportFaults(planted.map(parse)).map(({ path, text }) => `${path}: ${text}`),
      [
        `${server}/vault/keys/a.ts: vault/keys must not import ../opening/index.ts: vault/opening depends on vault/keys`,
      ],
    );
  });

  test('a cycle in a table is found', () => {
    const circle = findCycle({ a: ['b'], b: ['c'], c: ['b'] });
    assert.deepEqual(circle, ['b', 'c', 'b']);
  });

  test('an image that runs as root, through a shell or without a health check is found', () => {
    const text = 'FROM debian\nRUN true\nUSER node\nENTRYPOINT npm start\n';
    const path = 'deploy/Containerfile';
    assert.equal(deployFaults([{ path, text }]).length, 5);
    assert.equal(deployFaults([{ path: 'deploy/a.sh', text: '#!/bin/sh\n' }]).length, 1);
  });

  test('a folder of one machine is found, and only there', () => {
    const path = 'a.md';
    const folder = '/somewhere/here';
    assert.equal(machinePathFaults([{ path, text: `see ${folder}/x` }], [folder]).length, 1);
    assert.equal(
      machinePathFaults([{ path, text: `see .${folder}, ${folder}after` }], [folder]).length,
      0,
    );
  });

  test('a document that names missing files or tests is found', () => {
    const lost = { path: 'a.md', text: '# A title\n[b](b.md) [top](#a-title) [x](#nothing)\n' };
    const broken = documents.linkFaults([lost], (path) => path === 'a.md');
    assert.deepEqual(
      broken.map(({ text }) => text),
      ['b.md leads nowhere', '#nothing names no heading of a.md'],
    );
    const tour = {
      path: 'tour.md',
      text: 'First `payments/gone.ts`, then `tools/test-runner/test-command.ts`.',
    };
    assert.equal(documents.tourFaults(tour, exists).length, 1);
  });

  test('an error code with the status of another code, and an unknown code, are found', () => {
    const text = 'a\n503\n`provider_unavailable`, 502 `provider_unavailable` and 409 `so_so`\n';
    const faults = documents.statusFaults([{ path: 'a.md', text }], statusOf);
    assert.deepEqual(
      faults.map(({ line, text }) => `${line} ${text}`),
      ['2 provider_unavailable is 502, not 503', '3 so_so is no code, not 409'],
    );
  });

  test('a rule for card data that is missing, duplicated or without a test is found', () => {
    const tests = [{ path: 'tools/a.test.ts', text: `test('one is one', …)` }];
    const head = '| # | Rule | Proof |\n|---|---|---|\n';
    const proved = '`a.test.ts` › “one is one”';
    const rules = (proof: string, count = 22) =>
      head + Array.from({ length: count }, (_, at) => `| ${at + 1} | x | ${proof} |\n`).join('');
    const faultsOf = (text: string): number =>
      documents.cardRuleFaults({ path: 'c.md', text }, tests).length;
    assert.equal(faultsOf(rules(proved)), 0);
    assert.equal(faultsOf(rules(proved, 21)), 1);
    assert.equal(faultsOf(rules(proved).replace('| 3 |', '| 2 |')), 1);
    assert.equal(faultsOf(rules('not yet')), 22);
    assert.equal(faultsOf(rules('`b.test.ts`')), 22);
  });

  test('an export without a doc comment is found, also behind a re-export', () => {
    const exampleSource = '/** @example shown */\nexport const shown = 3;\n';
    const explained = `/** Says so. */\nexport const stated = 1;\nexport const untold = 2;\n${exampleSource}`;
    const files = publishedPackages.flatMap((name) => [
      parseSource({ path: `packages/${name}/src/index.ts`, text: `export * from './a.ts';` }),
      parseSource({ path: `packages/${name}/src/a.ts`, text: explained }),
    ]);
    const faults = exportFaults(files).map(({ path, line, text }) => `${path}:${line} ${text}`);
    const kits = faults.filter((each) => each.endsWith('stated is published without an example'));
    assert.equal(faults.length, publishedPackages.length + kits.length);
    assert.equal(kits.length, 4, 'each kit shows how its names are used');
    assert.match(faults[0] ?? '', /contract\/src\/a\.ts:3 untold is published without a doc block/);
    assert.match(exportFaults([])[0]?.text ?? '', /has no index.ts/);
  });

  test('an incomplete or missing decision record is found', () => {
    const path = 'docs/adr/0001-a.md';
    const whole = '# 1\n\nStatus: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n';
    const list = { path: 'docs/adr/index.md', text: '[1](0001-a.md)' };
    assert.equal(documents.decisionFaults([list, { path, text: whole }]).length, 0);
    assert.equal(documents.decisionFaults([{ path, text: whole }]).length, 1);
    assert.equal(documents.decisionFaults([list, { path, text: '# 1\n' }]).length, 4);
    const source = { path: 'a.ts', text: `// ${'ADR'} 0002` };
    assert.equal(documents.decisionFaults([list, { path, text: whole }, source]).length, 1);
  });

  test('a gap between migrations is found', () => {
    const text = '-- Makes a table for this test.\n';
    const at = (name: string) => ({ path: `m/${name}`, text });
    assert.equal(documents.migrationFaults([at('0001-a.sql'), at('0002-b.sql')]).length, 0);
    assert.equal(documents.migrationFaults([at('0001-a.sql'), at('0003-b.sql')]).length, 1);
    assert.equal(documents.migrationFaults([{ path: 'm/0001-a.sql', text: 'create' }]).length, 1);
  });
});

describe('vague words', () => {
  const path = 'packages/money/src/a.ts';
  const count = (text: string) => countVagueWords([{ path, text }])['packages/money/src'];

  test('vague words are counted in comments, texts and names, and not in code', () => {
    assert.deepEqual(count('// Nobody pays.\nconst told = 1;\n'), { texts: 1, names: 1 });
    assert.deepEqual(count("const text = 'the host is asked';\n"), { texts: 1, names: 0 });
    assert.deepEqual(count('const amount = Array.of(1);\n'), { texts: 0, names: 0 });
  });

  test('a folder above its limit is a fault, and a limit only decreases', () => {
    const counts = { tools: { texts: 3, names: 1 } };
    assert.match(vagueWordFaults({}, counts)[0]?.text ?? '', /3 vague words in texts and 1/);
    assert.deepEqual(vagueWordFaults({ tools: { texts: 3, names: 1 } }, counts), []);
    assert.deepEqual(lowerLimits({ tools: { texts: 5, names: 0 } }, counts), {
      tools: { texts: 3, names: 0 },
    });
  });
});
