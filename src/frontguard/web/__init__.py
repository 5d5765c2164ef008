"""The live page: what `frontguard serve` shows of the studies in a storage. It reads, and never writes.

What is known flows one way, and nothing flows back::

    storage → watchers → views, pages → app → guard → browser

Needs `frontguard[web]`. Start with `app`, which says what is answered, then follow the flow:

- `guard`: who may ask, and the headers of every answer; it stands in front of all the rest;
- `watchers`: keep up with the studies that somebody looks at, in threads;
- `views`: what is shown at an address now, made once for all who look at it, and the same as JSON;
- `pages`: as regions of HTML, of `parts`, which also has what a URL may say: numbers and known words only;
- `app`: routes, the regions that changed, sent to open pages, which `static/page.js` patches, and the server.
"""
