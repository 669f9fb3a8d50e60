/** The tabs of the API reference: operations, events and errors. */
import { Link } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import './api-console.css';

const parts = [
  ['operations', '/console'],
  ['events', '/console/events'],
  ['errors', '/console/errors'],
] as const;

export type ConsoleTab = (typeof parts)[number][0];

export function ConsoleTabs({ at }: { readonly at: ConsoleTab }) {
  const t = useTranslate('api-console');
  return (
    <nav className="sy-ref-tabs" aria-label={t('title')}>
      {parts.map(([part, to]) => (
        <Link key={part} to={to} {...(part === at ? { 'aria-current': 'page' as const } : {})}>
          {t(`parts.${part}`)}
        </Link>
      ))}
    </nav>
  );
}
