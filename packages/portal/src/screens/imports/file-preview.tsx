/** Shows the first lines of the import file. */
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import type { ImportFile } from './parse-import-file.ts';
import './imports.css';

const knownTypes = new Set(['merchant', 'store', 'logicalDevice', 'physicalDevice', 'pointOfSale']);

export function FilePreview({ file }: { readonly file: ImportFile | undefined }) {
  const t = useTranslate('imports');
  const formats = useFormats();
  if (file === undefined) {
    return (
      <Panel title={t('preview.title')}>
        <EmptyState icon="receipt" title={t('preview.noneTitle')}>
          {t('preview.noneText')}
        </EmptyState>
      </Panel>
    );
  }
  const types = Object.entries(file.types);
  return (
    <Panel title={t('preview.title')} flush>
      <ul className="sy-import-types sy-preview-types">
        <li>{t('preview.lines', { count: file.lines })}</li>
        {types.map(([type, count]) => (
          <li key={type}>
            {knownTypes.has(type) ? t(`types.${type}`) : t('preview.unknownType')}:{' '}
            {formats.number(count)}
          </li>
        ))}
      </ul>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and holds nothing that can be reached */}
      <section className="sy-preview" tabIndex={0} aria-label={file.name}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('line')}</th>
              {file.columns.map((column, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place; two may be named alike
                <th key={`${at} ${column}`} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {file.preview.map(({ line, cells }) => (
              <tr key={line}>
                <th scope="row">{line}</th>
                {file.columns.map((column, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                  <td key={`${at} ${column}`} title={cells[at]}>
                    {cells[at]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  );
}
