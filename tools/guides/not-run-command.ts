// Prints the commands of README and documentation that no test runs, each with the reason.
import { pagesWithCommands } from './command-pages.ts';

const pages = pagesWithCommands();
const blocks = pages.flatMap(({ page, blocks }) => blocks.map((block) => ({ page, ...block })));
const notRun = blocks.filter(({ notRun: reason }) => reason !== undefined);
for (const { page, line, notRun: reason } of notRun)
  process.stdout.write(`${page}:${line}  ${reason}\n`);
process.stdout.write(
  `${notRun.length} of ${blocks.length} blocks of commands are not run by a test.\n`,
);
