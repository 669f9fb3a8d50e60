// Finds a current bundle of the server. Plain JavaScript for any Node since 14, because run.cjs reads it.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const serverBundleFolder = path.join('.cache', 'server-bundle');

function hashSources(root, sources) {
  const whole = crypto.createHash('sha256');
  for (const name of sources) {
    const text = fs.readFileSync(path.join(root, name));
    whole.update(`${name} ${text.length}\n`).update(text);
  }
  return whole.digest('hex');
}

/** Undefined without a bundle, and if one of its sources has changed. */
function findServerBundle(root) {
  const folder = path.join(root, serverBundleFolder);
  try {
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
    // The bundle contains absolute paths of data files.
    const isCurrent =
      manifest.root === root && hashSources(root, manifest.sources) === manifest.hash;
    return isCurrent ? path.join(folder, 'main.mjs') : undefined;
  } catch {
    return undefined;
  }
}

module.exports = { serverBundleFolder, findServerBundle, hashSources };
