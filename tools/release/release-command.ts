// `npm run release`: makes the files of a release.
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ContainerImageFault } from './container-image.ts';
import { makeRelease, ReleaseFault } from './release.ts';

const usage = `npm run release [-- options]

Makes a release of the checked-out commit: a tarball with Node.js for this platform, its list of components
(CycloneDX), the release notes and SHA256SUMS. The same commit makes the same bytes.

  --out <folder>         output folder, which replaces an older release (dist/release)
  --base-image <image>   also make a container image on this base image; needs buildah and root
  --key <file>           also sign SHA256SUMS with this secret key; needs minisign
  --allow-changes        accept files that are not committed, for a trial
`;

function readOptions() {
  try {
    return parseArgs({
      options: {
        out: { type: 'string', default: 'dist/release' },
        'base-image': { type: 'string' },
        key: { type: 'string' },
        'allow-changes': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

const options = readOptions();
if (options.help) {
  process.stdout.write(usage);
  process.exit();
}
const folder = resolve(options.out);
try {
  const files = await makeRelease({
    folder,
    baseImage: options['base-image'],
    keyFile: options.key,
    allowChanges: options['allow-changes'],
    printLine: (line) => void process.stderr.write(`${line}\n`),
  });
  for (const file of files) {
    const bytes = statSync(join(folder, file)).size.toString().padStart(12);
    process.stdout.write(`${bytes}  ${join(options.out, file)}\n`);
  }
} catch (error) {
  if (!(error instanceof ReleaseFault || error instanceof ContainerImageFault)) throw error;
  process.stderr.write(`switchyard: ${error.message}\n`);
  process.exitCode = 1;
}
