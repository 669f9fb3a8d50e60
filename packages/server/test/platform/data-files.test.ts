// Checks every JSON file of the sources that names a schema.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const packages = join(import.meta.dirname, '../../..');

const readJson = (path: string): Record<string, unknown> => JSON.parse(readFileSync(path, 'utf8'));

/** A schema by its path, with the schemas beside it that it refers to. */
function compileSchema(path: string) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  for (const file of globSync('*.schema.json', { cwd: dirname(path) }))
    ajv.addSchema({ ...readJson(join(dirname(path), file)), $id: file });
  const validate = ajv.getSchema(path.slice(dirname(path).length + 1));
  assert.ok(validate !== undefined, `${path} does not exist`);
  return validate;
}

describe('the data files of the sources', () => {
  const files = globSync('*/src/**/*.json', { cwd: packages })
    .map((file) => ({ file, $schema: readJson(join(packages, file))['$schema'] }))
    .filter(({ $schema }) => typeof $schema === 'string' && $schema.startsWith('./'));

  test('the sources contain data files', () => {
    assert.ok(files.length >= 4, files.map(({ file }) => file).join(' '));
  });

  for (const { file, $schema } of files) {
    test(`${file.replaceAll('\\', '/')} matches its schema`, async () => {
      const path = join(packages, file);
      const validate = compileSchema(resolve(dirname(path), String($schema)));
      await validate(readJson(path));
      assert.deepEqual(validate.errors ?? [], []);
    });
  }
});
