#!/usr/bin/env node
// The `switchyard` command. Plain JavaScript for any Node since 14; the rest runs under Node 24, and
// once it is packed under Node 20.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { bundledNode, isNewEnough, nodeMajor, runUnder } = require('./node-24.cjs');

/**
 * A packed copy holds JavaScript, which older versions run as well. A clone runs its source; there
 * `switchyard admin` also has the commands that open the database of the server.
 */
const packedMajor = 20;
const entry = ['../dist/main.js', '../../../tools/admin/main.ts', '../src/main.ts']
  .map((name) => path.join(__dirname, name))
  .find((file) => fs.existsSync(file));

function fail(text) {
  process.stderr.write(`switchyard: ${text}\n`);
  process.exit(1);
}

function start() {
  if (entry === undefined) return fail('the package is incomplete; install it again.');
  const least = entry.endsWith('.js') ? packedMajor : nodeMajor;
  if (isNewEnough(least)) {
    const { enableCompileCache } = require('node:module');
    if (enableCompileCache) enableCompileCache();
    return import(pathToFileURL(entry).href).catch((fault) => {
      const isMissing = fault.code === 'ERR_MODULE_NOT_FOUND' && least === nodeMajor;
      const missing = isMissing ? ' Run npm start once.' : '';
      fail(`${fault.message}${missing}`);
    });
  }
  const node = bundledNode(__dirname);
  if (node === undefined) {
    return fail(
      `Node.js ${least} is needed; this is ${process.versions.node}, and no copy is bundled ` +
        `for ${process.platform}-${process.arch}. Install it from https://nodejs.org.`,
    );
  }
  return runUnder(node, [__filename, ...process.argv.slice(2)], process.env, (fault) =>
    fail(`${node} could not be started: ${fault.message}`),
  );
}

void start();
