// Counts vague words by folder: `npm run vague-words -- packages/server/src/http --list`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../repository-root.ts';
import { readTexts } from './source-files.ts';
import {
  countVagueWords,
  isCounted,
  limitsFile,
  lowerLimits,
  type VagueWordCounts,
  vagueWordsOf,
} from './vague-words.ts';

const usage = `Usage: npm run vague-words -- [folder …] [--list | --lower-limits]

Counts vague words in texts and names (words that hide the actor or the meaning), by folder.

  --list          print the words of each file
  --lower-limits  lower the limits in ${limitsFile} to the current counts; no limit is raised
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    'lower-limits': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const files = readTexts(repositoryRoot).filter(
  ({ path }) => positionals.length === 0 || positionals.some((each) => path.startsWith(each)),
);
const counts = countVagueWords(files);
if (values.help) {
  process.stdout.write(usage);
} else if (values['lower-limits']) {
  const file = join(repositoryRoot, limitsFile);
  const limits = JSON.parse(readFileSync(file, 'utf8')) as VagueWordCounts;
  writeFileSync(file, `${JSON.stringify(lowerLimits(limits, counts), null, 2)}\n`);
} else {
  if (values.list) {
    for (const file of files.filter(isCounted)) {
      const words = Object.values(vagueWordsOf(file)).flat();
      if (words.length > 0) console.info(`${file.path}: ${words.join(', ')}`);
    }
  }
  const total = { texts: 0, names: 0 };
  for (const [folder, { texts, names }] of Object.entries(counts)) {
    console.info(`${folder.padEnd(40)} ${String(texts).padStart(6)} ${String(names).padStart(6)}`);
    total.texts += texts;
    total.names += names;
  }
  console.info(`words in texts ${total.texts}, names ${total.names}`);
}
