/** The tabs of the API reference: operations, events and errors. */
import { Link } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import './api-console.css';

const parts = [
  ['operations', '/console'],
  ['events', '/console/events'],
  ['errors', '/console/errors'],
] as const;

export function ConsoleTabs() {
  const t = useTranslate('api-console');
  return (
    <nav className="sy-ref-tabs" aria-label={t('title')}>
      {parts.map(([part, to]) => (
        <Link key={part} to={to} activeOptions={{ exact: true, includeSearch: false }}>
          {t(`parts.${part}`)}
        </Link>
      ))}
    </nav>
  );
}
