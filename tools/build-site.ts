// Builds what `npm start` serves and runs, if its sources have changed: `node tools/build-site.ts portal server`.

import { repositoryRoot } from './repository-root.ts';
import { BuildFault, buildSite } from './sites/build.ts';
import { buildServer } from './sites/build-server.ts';
import { sites } from './sites/sites.ts';

const printLine = (line: string) => void process.stderr.write(`${line}\n`);
const options = process.argv.slice(2);
const names = options.filter((option) => !option.startsWith('--'));

const server = { name: 'the server', build: buildServer };

function findBuild(name: string): typeof server {
  if (name === 'server') return server;
  const site = sites[name];
  if (site === undefined)
    throw new Error(`Unknown site ${name}. Use: ${Object.keys(sites).join(', ')}, server.`);
  return { name: site.name, build: (deps) => buildSite(site, deps) };
}

async function build(option: string): Promise<void> {
  const { name, build: run } = findBuild(option);
  try {
    const isNew = await run({ root: repositoryRoot, printLine });
    if (!isNew && options.includes('--report-current'))
      printLine(`The build of ${name} is current.`);
  } catch (error) {
    if (!(error instanceof BuildFault)) throw error;
    process.stderr.write(`switchyard: ${name} could not be built: ${error.message}\n`);
    process.exitCode = 1;
  }
}

// All locks are taken at the start: the pages of a site that waits for another build are being built too.
await Promise.all(names.map(build));
