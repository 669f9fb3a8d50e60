/** The three parts of the reference, each at an address of its own. */
import { Link } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import './api-console.css';

const parts = [
  ['operations', '/console'],
  ['events', '/console/events'],
  ['errors', '/console/errors'],
] as const;

export type Part = (typeof parts)[number][0];

export function ConsoleTabs({ at }: { readonly at: Part }) {
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
