/** The progress bar of an import. */
import { Progress as Bar } from '@mantine/core';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import './imports.css';

export function ImportProgress({
  isTrial,
  lines,
  total,
}: {
  readonly isTrial: boolean;
  readonly lines: number;
  /** Zero if the number of lines is unknown. */
  readonly total: number;
}) {
  const t = useTranslate('imports');
  const formats = useFormats();
  const share = total === 0 ? 0 : Math.min(1, lines / total);
  const isUnknown = lines === 0 || total === 0;
  return (
    <Panel>
      <div className="sy-import-progress" aria-live="polite">
        <p>{t(isTrial ? 'progress.trying' : 'progress.sending')}</p>
        <Bar
          value={isUnknown ? 100 : share * 100}
          animated={isUnknown}
          striped={isUnknown}
          size="lg"
          aria-label={t('progress.label')}
        />
        <p className="sy-nothing">
          {total === 0
            ? t('progress.so', { lines: formats.number(lines) })
            : t('progress.of', { lines: formats.number(lines), all: formats.number(total) })}
        </p>
      </div>
    </Panel>
  );
}
